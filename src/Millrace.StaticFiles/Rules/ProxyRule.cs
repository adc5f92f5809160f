namespace Millrace.StaticFiles.Rules;

/// <summary>Sends requests to an application: those whose path matches, always or where the site has no file. Immutable.</summary>
/// <param name="Path">The paths, in the syntax of redirects: <c>/api/*</c>, <c>/users/:id</c>.</param>
/// <param name="Targets">
/// Where to: <c>http://host:port</c>, <c>https://host:port</c> or <c>unix:/path</c>, one or several of equal rank, as
/// <see cref="ProxyTarget"/> writes them.
/// </param>
internal sealed record ProxyRule(string Path, IReadOnlyList<string> Targets)
{
    /// <summary>The targets as one text.</summary>
    public string TargetsText { get; } = string.Join(' ', Targets);

    /// <summary>
    /// The path for the upstream, and perhaps a query, with <c>:splat</c> and placeholders; null to keep the request's own target.
    /// </summary>
    public string? TargetPath { get; init; }

    /// <summary>Whether files, redirects and rewrites of the site come first: <c>/*!</c>.</summary>
    public bool IsFallback { get; init; }

    /// <summary>Whether the upstream gets its own authority as Host, instead of the request's.</summary>
    public bool ReplacesHost { get; init; }

    /// <summary>Which fields tell the upstream about the client.</summary>
    public ForwardedFields Forwarded { get; init; }

    /// <summary>Whether requests and responses that pass get a Via field.</summary>
    public bool SendsVia { get; init; }
}

/// <summary>The fields with the client's address, scheme and host that an upstream gets.</summary>
internal enum ForwardedFields
{
    /// <summary>X-Forwarded-For, -Proto and -Host, which most applications read.</summary>
    XForwarded,

    /// <summary>Forwarded (RFC 7239).</summary>
    Forwarded,

    /// <summary>None. What the client sent of them is removed all the same.</summary>
    None,
}
