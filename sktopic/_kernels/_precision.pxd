"""The precisions that kernels are compiled for."""

ctypedef fused real:
    float
    double
