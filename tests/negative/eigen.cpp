// A tensor of a matrix of SCALAR.
#include <sinter/eigen.h>

sinter::Tensor zeros() { return sinter::eigen::tensor(Eigen::Matrix<SCALAR, 2, 2>::Zero()); }
