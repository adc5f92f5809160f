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

    /// <summary>
    /// The authority answers, and an order does not come forward: it takes too long, or what comes back is an error of the server or not
    /// readable. An authority that is away, busy or wants fewer requests says nothing of an order.
    /// </summary>
    public static bool IsFruitless(this AcmeException e) =>
        e.IsMalformed || e.InnerException is PollingLimitException
        || (e.Problem is { Status: (int)HttpStatusCode.InternalServerError } && !e.IsRateLimit());

    public static bool IsRateLimit(this AcmeException e) =>
        e.Problem is { Name: "rateLimited" } or { Status: (int)HttpStatusCode.TooManyRequests };

    /// <summary>The account may be gone. <c>unauthorized</c> has other reasons too.</summary>
    public static bool MayBeAboutAccount(this AcmeException e) => e.Problem is { Name: "accountDoesNotExist" or "unauthorized" };

    public static string Describe(ProblemDocument? problem) => problem?.ToString() ?? "it gave no reason";
}
