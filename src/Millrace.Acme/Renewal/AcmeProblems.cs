using System.Net;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Renewal;

/// <summary>What the problems of RFC 8555, section 6.7, mean for an attempt.</summary>
internal static class AcmeProblems
{
    /// <summary>The request may succeed later as it is: nothing came back, the server failed, or it wants fewer requests.</summary>
    public static bool IsTransient(this AcmeException e) =>
        e.Problem is not { } problem
        || problem.Status is 0 or >= 500 or (int)HttpStatusCode.TooManyRequests or (int)HttpStatusCode.RequestTimeout
        || problem.Name is "rateLimited" or "serverInternal" or "badNonce";

    public static bool IsRateLimit(this AcmeException e) =>
        e.Problem is { Name: "rateLimited" } or { Status: (int)HttpStatusCode.TooManyRequests };

    /// <summary>The account may be gone. <c>unauthorized</c> has other reasons too.</summary>
    public static bool MayBeAboutAccount(this AcmeException e) => e.Problem is { Name: "accountDoesNotExist" or "unauthorized" };

    public static string Describe(ProblemDocument? problem) => problem?.ToString() ?? "it gave no reason";
}
