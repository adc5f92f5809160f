using System.Globalization;
using System.Net;
using Millrace.Interop.Files;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server.Https;

internal sealed record HttpsOptions
{
    public IReadOnlyList<EndPoint> Addresses { get; init; } = [];

    /// <summary>Whether an address is added that depends on other options.</summary>
    public bool UsesDefaultAddress { get; init; }

    /// <summary>Certificate files. Empty: a local certificate is generated.</summary>
    public IReadOnlyList<string> CertificatePaths { get; init; } = [];

    /// <summary>Key files, in the same order. Empty: the keys are in the certificate files.</summary>
    public IReadOnlyList<string> KeyPaths { get; init; } = [];

    public IReadOnlyList<CertificateFiles> Certificates =>
    [
        .. CertificatePaths.Zip(
            KeyPaths.Count > 0 ? KeyPaths : CertificatePaths,
            static (certificate, key) => new CertificateFiles(certificate, key)),
    ];

    /// <summary>Files with the keys' passwords: none, one for all, or one for each.</summary>
    public IReadOnlyList<string> KeyPasswordPaths { get; init; } = [];

    public bool Redirects { get; init; }

    /// <summary>The max-age of Strict-Transport-Security (RFC 6797); null: not sent.</summary>
    public long? HstsSeconds { get; init; }

    /// <summary>A file with the authorities of client certificates, which are then required.</summary>
    public string? ClientAuthorities { get; init; }

    public string? KeyLog { get; init; }

    /// <summary>Whether requests for hosts that a connection's certificate does not cover get 421.</summary>
    public HostCheckMode HostCheck { get; init; }

    /// <summary>Whether HTTP/3 is served over UDP on the ports of <see cref="Addresses"/>.</summary>
    public bool Http3 { get; init; }

    /// <summary>A folder for the events of QUIC connections; null: they are not written.</summary>
    public string? QlogFolder { get; init; }

    /// <summary>The UDP port that Alt-Svc announces; null for the one that is listened on.</summary>
    public int? Http3Port { get; init; }

    /// <summary>Files read at the start, and again on SIGHUP.</summary>
    public IEnumerable<string> FilesRead =>
    [
        .. CertificatePaths, .. KeyPaths, .. KeyPasswordPaths, .. ClientAuthorities is null ? (string[])[] : [ClientAuthorities],
    ];

    public bool HasSameTls(HttpsOptions other) =>
        CertificatePaths.SequenceEqual(other.CertificatePaths)
        && KeyPaths.SequenceEqual(other.KeyPaths)
        && KeyPasswordPaths.SequenceEqual(other.KeyPasswordPaths)
        && ClientAuthorities == other.ClientAuthorities
        && Http3 == other.Http3
        && KeyLog == other.KeyLog;

    /// <summary>The certificates with the passwords of their keys.</summary>
    /// <exception cref="TlsException">A password file cannot be read, or is empty.</exception>
    public IReadOnlyList<CertificateFiles> ReadCertificates() => KeyPasswordPaths.Count == 0
        ? Certificates
        : [.. Certificates.Select((files, i) => files with { Password = ReadPassword(KeyPasswordPathOf(i)) })];

    /// <summary>Adds HTTPS's header fields to the site, before the site's own rules, which override them.</summary>
    public SiteOptions ApplyTo(SiteOptions site)
    {
        if (HstsSeconds is not long seconds)
        {
            return site;
        }

        var rule = new FieldRule("*", "Strict-Transport-Security", string.Create(CultureInfo.InvariantCulture, $"max-age={seconds}"));
        return site with { Fields = [rule, .. site.Fields] };
    }

    private string KeyPasswordPathOf(int certificate) => KeyPasswordPaths[KeyPasswordPaths.Count == 1 ? 0 : certificate];

    private static string ReadPassword(string path)
    {
        try
        {
            return File.ReadLines(path).FirstOrDefault() is { Length: > 0 } line
                ? line
                : throw new TlsException($"The file '{path}' has no password in its first line: write it there.");
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            throw new TlsException(
                $"The password in '{path}' cannot be read: {FileProblem.Of(path, refusal)}. "
                    + FileProblem.RemedyOf(refusal, "Name a file that this user may read."),
                refusal)
            {
                IsMistake = FileProblem.IsMistake(path, refusal),
            };
        }
    }
}
