# An image for unprivileged users and a read-only root file system: docs/how-to/unattended.md.
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/mcsquared \
    && /opt/mcsquared/bin/pip install --no-cache-dir "/source[report,cluster]" \
    && /opt/mcsquared/bin/python -m mcsquared.compile

FROM python:3.12-slim
COPY --from=build /opt/mcsquared /opt/mcsquared
ENV PATH=/opt/mcsquared/bin:$PATH PYTHONDONTWRITEBYTECODE=1
RUN useradd --uid 10001 --no-create-home mc2
USER 10001
WORKDIR /data
ENTRYPOINT ["mc2"]
