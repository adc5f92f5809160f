namespace Millrace.Acme.Protocol;

/// <summary>A request to a certificate authority, with what is said of it where it fails. Immutable.</summary>
/// <param name="What">For messages: a noun with its article, such as "the order".</param>
/// <param name="Method">HEAD, GET or POST.</param>
/// <param name="Url">Where it goes.</param>
internal sealed record AcmeRequest(string What, HttpMethod Method, Uri Url)
{
    public const string Json = "application/json";
    public const string Pem = "application/pem-certificate-chain";

    private const int JsonBytesMax = 64 * 1024;
    private const int PemBytesMax = 256 * 1024;

    /// <summary>A JWS; null for none.</summary>
    public byte[]? Body { get; init; }

    /// <summary>The media type that is expected.</summary>
    public string Accept { get; init; } = Json;

    /// <summary>How long the answer may be.</summary>
    public int BytesMax => Accept == Pem ? PemBytesMax : JsonBytesMax;

    public override string ToString() => $"{Method} {Url.AbsoluteUri}";
}

/// <summary>An answer, whatever its status. Immutable.</summary>
internal sealed record AcmeResponse
{
    public required AcmeRequest Request { get; init; }

    public required int Status { get; init; }

    public required byte[] Body { get; init; }

    /// <summary>The media type in lower case; empty if there is none.</summary>
    public required string MediaType { get; init; }

    public string? Nonce { get; init; }

    /// <summary>Absolute.</summary>
    public Uri? Location { get; init; }

    /// <summary>The other forms of what was requested.</summary>
    public required IReadOnlyList<Uri> Alternates { get; init; }

    public TimeSpan? RetryAfter { get; init; }

    public bool IsSuccess => Status is >= 200 and < 300;

    public bool IsJson => MediaType.Length == 0 || MediaType == AcmeRequest.Json || MediaType.EndsWith("+json", StringComparison.Ordinal);
}
