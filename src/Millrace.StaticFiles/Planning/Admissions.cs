using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Planning;

/// <summary>What a site's verdicts about credentials mean for a request. What is not granted for sure is denied.</summary>
internal static class Admissions
{
    public static Admission Of(AccessDecision decision) => decision switch
    {
        AccessDecision.Granted => Admission.Granted,
        AccessDecision.Unverified => Admission.Unverified,
        _ => Admission.Denied,
    };

    public static Admission Of(VerificationOutcome outcome) => outcome switch
    {
        VerificationOutcome.Granted => Admission.Granted,
        VerificationOutcome.Overloaded => Admission.Overloaded,
        _ => Admission.Denied,
    };
}
