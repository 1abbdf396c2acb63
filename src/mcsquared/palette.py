"""Colours of clusters, topics and chains, shared by the report and the plots.

The first six are those of Okabe and Ito without yellow and black. Each later one was chosen to be
as different as possible from all before it, in both themes, for normal and for red-green deficient
colour vision.
"""

# On white and, with the same hues in the same order, on the dark background of the report.
_LIGHT = """
    #0072b2 #d55e00 #009e73 #c66a9b #e69f00 #56b4e9
    #882255 #8f8f2c #4b3fa5 #3cc96a #c4aaa6 #0d4a22
    #7679de #861309 #526d34 #ae388f #6f0f82 #cf3f4c
    #75ae81 #7b566e #d686bc #732ebf #6f397b #566286
    #043b90 #4f15ad #643a3a #204e62 #b69255 #9fb83c
    #ce50c7 #a049d4 #3f8aac #607a7b #784e14 #3eab5e
    #03642b #867867 #ba293b #6ca5a0 #4a366b #ae794c
    #9bb2d8 #b0a03c #5575a9 #7e539c #bf8f9d #ae7f77
"""
_DARK = """
    #4da3db #f0803c #2cc295 #e09cc2 #f2b632 #9bd8f8
    #c9629a #c0c056 #978bea #72f996 #f1d6d2 #50885c
    #abb1ff #cd594a #88a66a #ec72c8 #b057c4 #fe8688
    #a3dfaf #b58da7 #ffbae7 #ab72fc #ac73b9 #8c9ac1
    #457bd6 #8662f5 #a47474 #5c8aa0 #e7c284 #cbe66e
    #fd8ff5 #d08dff #74bfe2 #95b0b1 #b58751 #74de8e
    #50a064 #bcac9b #fc6970 #9bd6d1 #8671ac #e4ac7e
    #cbdffe #e0d06e #89abe3 #b78ad8 #f0becc #e2b0a8
"""
COLOURS, DARK_COLOURS = tuple(_LIGHT.split()), tuple(_DARK.split())
N_COLOURS = len(COLOURS)
GREY = "#8c8c8c"  # not a cluster: overall shares, missing and other values
