// What verify() returns, as text.
#include <ostream>
#include <sstream>

#include "frontend/compile/report.h"
#include "ir/attributes.h"
#include "ir/error.h"

namespace sinter {

const Disagreement& VerifyReport::first() const {
  if (ok()) throw UserError("verify", "all values agree: there is no first disagreement; check ok() before");
  return disagreements.front();
}

std::ostream& operator<<(std::ostream& stream, const VerifyReport& report) {
  std::ostringstream out;  // its own flags and precision: the stream's are the user's
  std::string non_finite;
  for (const std::string& result : report.non_finite) non_finite += "  not finite, as it should be: " + result + "\n";
  if (report.ok())
    return stream << str("verify: ", report.nodes, " values agree; the greatest error is ", report.worst, " of its tolerance\n", non_finite);
  out << "verify: " << report.disagreements.size() << " of " << report.nodes << " values disagree, this one first:\n";
  for (const Disagreement& d : report.disagreements) {
    out << "  [" << d.part << "] " << d.node << ": element " << d.index << " is " << ir::number_text(d.got) << ", should be "
        << ir::number_text(d.wanted);
    if (d.part == "memory plan") out << " as it is with separate memory";
    else out << " within " << d.tolerance;
    out << ", " << d.ulps << " ulps off\n";
  }
  return stream << out.str() << non_finite;
}

}  // namespace sinter
