namespace Millrace.Acme;

/// <summary>Which certificates to obtain, from whom, and where they are stored.</summary>
public sealed record AcmeOptions
{
    /// <summary>The directory of Let's Encrypt.</summary>
    public static readonly Uri LetsEncrypt = new("https://acme-v02.api.letsencrypt.org/directory");

    /// <summary>The directory of Let's Encrypt for trials: generous limits, certificates that no browser trusts.</summary>
    public static readonly Uri LetsEncryptStaging = new("https://acme-staging-v02.api.letsencrypt.org/directory");

    /// <summary>
    /// The names of each certificate: hosts, <c>*.host</c> (validated by <see cref="DnsHook"/> only) and IP addresses. A certificate is
    /// ordered, renewed and refused by itself, so names in different lists do not depend on each other.
    /// </summary>
    public required IReadOnlyList<IReadOnlyList<string>> Certificates { get; init; }

    /// <summary>The folder for accounts, keys, certificates and orders under way. Created with access for its owner only.</summary>
    public required string Directory { get; init; }

    /// <summary>Where the authority sends warnings; null for nowhere.</summary>
    public string? Email { get; init; }

    /// <summary>The authority's directory.</summary>
    public Uri DirectoryUrl { get; init; } = LetsEncrypt;

    /// <summary>A PEM file of the roots that the authority's own server is verified by; null for the system's.</summary>
    public string? RootsFile { get; init; }

    /// <summary>An account with the authority that exists outside of ACME (RFC 8555, section 7.3.4); null for none.</summary>
    public ExternalAccount? ExternalAccount { get; init; }

    /// <summary>A profile that the authority offers, such as <c>shortlived</c>; null for its default.</summary>
    public string? Profile { get; init; }

    /// <summary>The kinds of keys; a certificate is obtained for each.</summary>
    public AcmeKeyKinds KeyKinds { get; init; } = AcmeKeyKinds.P256;

    /// <summary>
    /// A program that creates and removes TXT records, for DNS-01; null for none. Its arguments are <c>present</c> or <c>cleanup</c>, the
    /// host, the name of the record, and its value. It exits with 0 when clients can see the record.
    /// </summary>
    public string? DnsHook { get; init; }

    /// <summary>The common name of the issuer at the end of the chain that is preferred, if the authority offers several.</summary>
    public string? PreferredChain { get; init; }
}

/// <summary>An account with a certificate authority that exists outside of ACME.</summary>
/// <param name="KeyId">As the authority gives it.</param>
/// <param name="HmacKey">As the authority gives it, in Base64Url.</param>
public sealed record ExternalAccount(string KeyId, string HmacKey)
{
    /// <summary>Without the key.</summary>
    public override string ToString() => KeyId;
}

/// <summary>Kinds of certificate keys.</summary>
[Flags]
public enum AcmeKeyKinds
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>ECDSA on P-256: every client of the last ten years, and the cheapest handshakes.</summary>
    P256 = 1,

    /// <summary>RSA of 2048 bits, for older clients; handshakes cost some twenty times as much.</summary>
    Rsa2048 = 2,
}
