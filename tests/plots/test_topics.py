"""Topics as their most probable words, in order, and as images."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared import plots


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_topic_has_its_words_with_bars_of_their_probabilities(posterior):
    ax = plots.topic_words(posterior, n_words=3)
    assert len(ax.containers) == posterior.n_topics
    table = posterior.topics(n_words=3)
    text = texts(ax)
    for topic, bars in enumerate(ax.containers):
        words = table["words"][topic].split(", ")
        first = 1 + text.index(f"topic {topic} ({table['weight'][topic]:.1%})")
        assert text[first : first + len(words)] == words
        lengths = np.array([bar.get_width() for bar in bars])
        probability = posterior.word_given_topic.loc[topic, words].to_numpy()
        np.testing.assert_allclose(lengths / lengths[0], probability / probability[0])
        # Words are on their bars.
        rows = [text.get_position()[1] for text in ax.texts[first : first + len(words)]]
        assert rows == pytest.approx([bar.get_y() + bar.get_height() / 2 for bar in bars])


def test_blocks_of_topics_do_not_overlap(posterior):
    ax = plots.topic_words(posterior, n_words=12)
    boxes = [bar.get_bbox() for bars in ax.containers for bar in bars]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_only_the_selected_topics_are_drawn(posterior):
    ax = plots.topic_words(posterior, [3, 1], n_words=2)
    assert [text for text in texts(ax) if text.startswith("topic")] == [
        f"topic {topic} ({posterior.topics()['weight'][topic]:.1%})" for topic in (3, 1)
    ]
    assert len(plots.topic_words(posterior, 2).containers) == 1


def test_dollar_signs_in_words_are_drawn_literally(posterior):
    words = posterior.vocabulary.copy()
    words[:] = [f"${word}$" for word in words]
    other = mc2.Posterior(**arguments_of(posterior, vocabulary=words))
    ax = plots.topic_words(other, 0)
    ax.figure.canvas.draw()  # invalid mathematics would fail here
    assert any(r"\$wört3\$" in text for text in texts(ax))


def arguments_of(posterior, **changed):
    names = (
        "priors group_names vocabulary contexts tokens_per_group cluster_of_group chain_of_draw "
        "sweep_of_draw trace parameters word_frequency document_frequency"
    )
    return {name: getattr(posterior, name) for name in names.split()} | changed


def test_images_are_the_topics_in_row_order_and_each_has_its_number(posterior):
    ax = plots.topic_images(posterior, shape=(3, 4))
    (image,) = ax.images
    mosaic = np.ma.filled(image.get_array(), np.nan)
    assert texts(ax) == ["0", "1", "2", "3"]
    for topic, frame in enumerate(ax.patches):
        left, top = round(frame.get_x() + 0.5), round(frame.get_y() + 0.5)
        assert (frame.get_height(), frame.get_width()) == (3, 4)
        pixels = mosaic[top : top + 3, left : left + 4]
        expected = posterior.components[topic].reshape(3, 4)
        np.testing.assert_allclose(pixels, expected / expected.max())
        number = ax.texts[topic].get_position()
        assert number[0] == left + 1.5
        assert number[1] < top
        mosaic[top : top + 3, left : left + 4] = np.nan
    assert np.isnan(mosaic).all()  # nothing outside the images


def test_means_of_vectors_are_images_too(vectors):
    ax = plots.topic_images(vectors, shape=(1, 2), topics=[1])
    mosaic = np.ma.filled(ax.images[0].get_array(), np.nan)
    mean = vectors.components[1]
    low = min(mean.min(), 0.0)
    np.testing.assert_allclose(
        mosaic[~np.isnan(mosaic)], (mean - low) / (mean.max() - low), atol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, v: plots.topic_images(p, (3, 5)), r"shape must have 12 pixels, got \(3, 5\)"),
        (
            lambda p, v: plots.topic_images(p, 12),
            "shape must be the height and width of an image, got 12",
        ),
        (lambda p, v: plots.topic_images(p, (-3, -4)), "height and width"),
        (lambda p, v: plots.topic_words(v), "content of this model is vectors"),
        (
            lambda p, v: plots.topic_words(p, [0, 4]),
            r"topics must be in 0\.\.3, got 4",
        ),
        (
            lambda p, v: plots.topic_words(p, [0.5]),
            r"topics must be an integer or a list of integers, got \[0\.5\]",
        ),
        (lambda p, v: plots.topic_words(p, n_words=0), "n_words must be an integer >= 1, got 0"),
        (
            lambda p, v: plots.topic_words(mc2.MC2()),
            "model must be a fitted MC2 or a Posterior, got MC2 that is not fitted",
        ),
    ],
)
def test_invalid_arguments_are_rejected(posterior, vectors, call, message):
    with pytest.raises(mc2.InputError, match=message):
        call(posterior, vectors)
