using System.Net.Sockets;
using System.Security.Authentication;
using System.Text.Json;
using Millrace.Interop.Sockets;

namespace Millrace.Acme.Protocol;

/// <summary>What is said of requests that fail, for operators: what was asked, of whom, and what came back. Stateless.</summary>
internal static class AcmeErrors
{
    /// <summary>No answer came, or only a part of it.</summary>
    public static AcmeException Unanswered(AcmeRequest request, Exception cause) => Unanswered(request, Describe(cause), cause);

    public static AcmeException Unanswered(AcmeRequest request, string why, Exception? cause = null) =>
        new($"The authority {request.Url.Authority} does not answer the request for {request.What}: {why} ({request})", cause);

    /// <summary>An answer that is not what RFC 8555 allows.</summary>
    public static AcmeException Malformed(AcmeRequest request, string why, Exception? cause = null) =>
        new(
            $"The answer of the authority {request.Url.Authority} to the request for {request.What} is not valid: {why} ({request})",
            cause)
        {
            IsMalformed = true,
        };

    /// <summary>An answer whose status is not one of success.</summary>
    public static AcmeException Refused(AcmeResponse response, Uri directory)
    {
        AcmeRequest request = response.Request;
        if (response.Status is >= 300 and < 400)
        {
            string target = response.Location is { } location ? AcmeText.Clean(location.AbsoluteUri) : "nowhere";
            return Malformed(request, $"a redirection to {target}, which is not followed (HTTP {response.Status})");
        }

        ProblemDocument problem = ProblemOf(response, directory);
        string verb = response.Status >= 500 ? "fails on" : "refuses";
        string why = problem.Type == ProblemDocument.Blank && problem.Detail.Length == 0 ? "" : $": {problem}";
        string when = response.RetryAfter is { } wait ? $", try again in {AcmeText.Describe(wait)}" : "";
        return new AcmeException($"The authority {request.Url.Authority} {verb} {request.What}{why} (HTTP {response.Status}{when})")
        {
            Problem = problem,
            RetryAfter = response.RetryAfter,
        };
    }

    /// <summary>What a refusal says; with no more than its status where its body is not readable.</summary>
    public static ProblemDocument ProblemOf(AcmeResponse response, Uri directory)
    {
        if (response.IsJson && response.Body.Length > 0)
        {
            try
            {
                using JsonDocument json = JsonDocument.Parse(response.Body);
                return AcmeObjects.Problem(new AcmeFields(json.RootElement, directory))! with { Status = response.Status };
            }
            catch (Exception e) when (IsUnreadable(e))
            {
                // The status says that it is a refusal.
            }
        }

        return new ProblemDocument(ProblemDocument.Blank, "", response.Status, Identifier: null, Subproblems: []);
    }

    /// <summary>What reading JSON and its fields throws: the last for strings that are not Unicode.</summary>
    public static bool IsUnreadable(Exception e) => e is JsonException or FormatException or InvalidOperationException;

    /// <summary>The innermost cause is the one that helps; the outer ones say that there is one.</summary>
    private static string Describe(Exception cause)
    {
        Exception innermost = cause.GetBaseException();
        if (cause is HttpRequestException { HttpRequestError: HttpRequestError.NameResolutionError })
        {
            string why = innermost is SocketException refusal ? NetworkProblem.Of(refusal) : "no DNS server answers (see /etc/resolv.conf)";
            return $"its name cannot be resolved, as {why}";
        }

        string words = AcmeText.Clean(innermost.Message).TrimEnd('.');
        return innermost is AuthenticationException
            ? $"{words}. The roots of an authority that the system does not trust have to be configured"
            : words;
    }
}
