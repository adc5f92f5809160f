namespace Millrace.Acme.Protocol;

/// <summary>
/// The objects of RFC 8555 and RFC 9773, read from JSON. Strict with what the client uses, lenient with the rest. What is not valid is a
/// <see cref="FormatException"/> that says what. Stateless.
/// </summary>
internal static class AcmeObjects
{
    private const int SubproblemsMax = 100;

    public static AcmeDirectory Directory(AcmeFields fields)
    {
        AcmeFields? meta = fields.ObjectOrNull("meta");
        return new AcmeDirectory
        {
            NewNonce = fields.Url("newNonce"),
            NewAccount = fields.Url("newAccount"),
            NewOrder = fields.Url("newOrder"),
            RevokeCertificate = fields.UrlOrNull("revokeCert"),
            RenewalInfo = fields.UrlOrNull("renewalInfo"),
            Profiles = meta?.ObjectOrNull("profiles")?.Names() ?? [],
            ExternalAccountRequired = meta?.IsTrue("externalAccountRequired") ?? false,
        };
    }

    /// <param name="fields">The object.</param>
    /// <param name="url">Where it is.</param>
    /// <param name="retryAfter">Of the answer.</param>
    public static AcmeOrder Order(AcmeFields fields, Uri url, TimeSpan? retryAfter)
    {
        var order = new AcmeOrder
        {
            Url = url,
            Status = fields.OneOf<AcmeOrderStatus>("status"),
            Identifiers = [.. fields.Objects("identifiers").Select(Identifier)],
            Authorizations = fields.Urls("authorizations"),
            Finalize = fields.Url("finalize"),
            Certificate = fields.UrlOrNull("certificate"),
            Expires = fields.TimeOrNull("expires"),
            Error = Problem(fields.ObjectOrNull("error")),
            RetryAfter = retryAfter,
        };
        return order.Status == AcmeOrderStatus.Valid && order.Certificate is null
            ? throw new FormatException("the order is valid, but the field \"certificate\" is missing")
            : order;
    }

    /// <param name="fields">The object.</param>
    /// <param name="url">Where it is.</param>
    /// <param name="retryAfter">Of the answer.</param>
    public static AcmeAuthorization Authorization(AcmeFields fields, Uri url, TimeSpan? retryAfter) => new()
    {
        Url = url,
        Identifier = Identifier(fields.Object("identifier")),
        Status = fields.OneOf<AcmeAuthorizationStatus>("status"),
        Challenges = [.. fields.Objects("challenges").Select(Challenge)],
        IsWildcard = fields.IsTrue("wildcard"),
        RetryAfter = retryAfter,
    };

    /// <summary>Without <see cref="RenewalInfo.RetryAfter"/>, which is not in the JSON.</summary>
    public static RenewalInfo Renewal(AcmeFields fields)
    {
        AcmeFields window = fields.Object("suggestedWindow");
        DateTimeOffset start = window.Time("start");
        DateTimeOffset end = window.Time("end");
        return end > start
            ? new RenewalInfo(start, end, fields.PageOrNull("explanationURL"), TimeSpan.Zero)
            : throw new FormatException("the suggested window ends before it begins");
    }

    /// <summary>Whatever of it can be read.</summary>
    public static ProblemDocument? Problem(AcmeFields? fields) => fields is { } found ? Problem(found, depth: 0) : null;

    private static ProblemDocument Problem(AcmeFields fields, int depth) => new(
        AcmeText.Clean(fields.TextOrNull("type") ?? ProblemDocument.Blank),
        AcmeText.Clean(fields.TextOrNull("detail") ?? fields.TextOrNull("title") ?? ""),
        fields.NumberOrNull("status") ?? 0,
        fields.ObjectOrNull("identifier") is { } identifier ? Identifier(identifier) : null,
        depth > 0
            ? []
            : [.. fields.ObjectsOrNone("subproblems").Take(SubproblemsMax).Select(static problem => Problem(problem, depth: 1))]);

    private static AcmeIdentifier Identifier(AcmeFields fields) =>
        new(AcmeText.Clean(fields.Text("type")), AcmeText.Clean(fields.Text("value")));

    private static AcmeChallenge Challenge(AcmeFields fields)
    {
        string type = AcmeText.Clean(fields.Text("type"));
        return new AcmeChallenge(
            type, fields.Url("url"), Token(type, fields), AcmeText.Clean(fields.Text("status")), Problem(fields.ObjectOrNull("error")));
    }

    /// <summary>It becomes a part of paths, of records and of arguments: only Base64Url is allowed (RFC 8555, section 8).</summary>
    private static string Token(string type, AcmeFields fields)
    {
        if (type is not ("http-01" or "tls-alpn-01" or "dns-01"))
        {
            return "";
        }

        string token = fields.Text("token");
        return AcmeText.IsBase64Url(token)
            ? token
            : throw new FormatException($"the token of the challenge {type} is not Base64Url: \"{AcmeText.Clean(token)}\"");
    }
}
