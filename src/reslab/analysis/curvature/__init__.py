"""The spectrum of the Hessian or the Gauss-Newton matrix, and how well shortcuts precondition each block."""
