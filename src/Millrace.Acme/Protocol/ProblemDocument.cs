using System.Net;
using System.Text;

namespace Millrace.Acme.Protocol;

/// <summary>A problem as a server describes it (RFC 7807; RFC 8555, section 6.7). Immutable.</summary>
/// <param name="Type">The URN, or "about:blank".</param>
/// <param name="Detail">The server's own words without control characters; may be empty.</param>
/// <param name="Status">The HTTP status; 0 if not given.</param>
/// <param name="Identifier">What a subproblem is about.</param>
/// <param name="Subproblems">The problems of the identifiers, each by itself.</param>
internal sealed record ProblemDocument(
    string Type, string Detail, int Status, AcmeIdentifier? Identifier, IReadOnlyList<ProblemDocument> Subproblems)
{
    /// <summary>The type of a problem that is described by its status only.</summary>
    public const string Blank = "about:blank";

    /// <summary>See <see cref="KnownName"/>.</summary>
    public const string Other = "other";

    private const string Prefix = "urn:ietf:params:acme:error:";
    private const int SubproblemsShown = 10;

    /// <summary>RFC 8555, section 6.7; RFC 9773, section 7.4.</summary>
    private static readonly HashSet<string> Known = new(StringComparer.Ordinal)
    {
        "accountDoesNotExist", "alreadyReplaced", "alreadyRevoked", "badCSR", "badNonce", "badPublicKey", "badRevocationReason",
        "badSignatureAlgorithm", "caa", "compound", "connection", "dns", "externalAccountRequired", "incorrectResponse", "invalidContact",
        "malformed", "orderNotReady", "rateLimited", "rejectedIdentifier", "serverInternal", "tls", "unauthorized", "unsupportedContact",
        "unsupportedIdentifier", "userActionRequired",
    };

    /// <summary>The last part of ACME's own types, such as <c>rateLimited</c>; otherwise the whole type.</summary>
    public string Name => Type.StartsWith(Prefix, StringComparison.Ordinal) ? Type[Prefix.Length..] : Type;

    /// <summary>The name, if it is one that RFCs define; <c>other</c> for all else, which a server may invent.</summary>
    public string KnownName => Known.Contains(Name) ? Name : Other;

    /// <summary>As a server says that an account may not do something, which some say by the account's status only.</summary>
    public static ProblemDocument Unauthorized(string detail) =>
        new(Prefix + "unauthorized", detail, (int)HttpStatusCode.Forbidden, Identifier: null, Subproblems: []);

    /// <summary>For operators: <c>name: detail (identifier: name: detail; …)</c>.</summary>
    public override string ToString()
    {
        var text = new StringBuilder();
        if (Type != Blank || Detail.Length == 0)
        {
            text.Append(Name);
        }

        if (Detail.Length > 0)
        {
            text.Append(text.Length > 0 ? ": " : "").Append(Detail);
        }

        if (Subproblems.Count > 0)
        {
            string more = Subproblems.Count > SubproblemsShown ? $"; {Subproblems.Count - SubproblemsShown} more" : "";
            text.Append(" (").AppendJoin("; ", Subproblems.Take(SubproblemsShown).Select(Describe)).Append(more).Append(')');
        }

        return text.ToString();
    }

    private static string Describe(ProblemDocument problem) =>
        problem.Identifier is { } identifier ? $"{identifier}: {problem}" : problem.ToString();
}
