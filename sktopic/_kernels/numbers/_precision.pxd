"""The precisions of topic rows that kernels are compiled for."""

ctypedef fused real:
    float
    double
