using System.Globalization;
using System.Net;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server.Https;

/// <summary>What the server was told of TLS.</summary>
internal sealed record HttpsOptions
{
    public IReadOnlyList<EndPoint> Addresses { get; init; } = [];

    /// <summary>Files with certificates. None: a local one is made.</summary>
    public IReadOnlyList<string> CertificatePaths { get; init; } = [];

    /// <summary>The files with their keys, in the same order. None: the keys are with the certificates.</summary>
    public IReadOnlyList<string> KeyPaths { get; init; } = [];

    public IReadOnlyList<CertificateFiles> Certificates =>
    [
        .. CertificatePaths.Zip(
            KeyPaths.Count > 0 ? KeyPaths : CertificatePaths,
            static (certificate, key) => new CertificateFiles(certificate, key)),
    ];

    /// <summary>Files with the passwords of their keys: none, one for all, or one for each.</summary>
    public IReadOnlyList<string> KeyPasswordPaths { get; init; } = [];

    /// <summary>Whether what comes over plain HTTP is sent to HTTPS.</summary>
    public bool Redirects { get; init; }

    /// <summary>For how long browsers are to insist on HTTPS (RFC 6797); null: they are not told to.</summary>
    public long? InsistSeconds { get; init; }

    /// <summary>The authorities of clients, which then need certificates.</summary>
    public string? ClientAuthorities { get; init; }

    public string? KeyLog { get; init; }

    /// <summary>What is read at the start, and again on SIGHUP.</summary>
    public IEnumerable<string> FilesRead =>
    [
        .. CertificatePaths, .. KeyPaths, .. KeyPasswordPaths, .. ClientAuthorities is null ? (string[])[] : [ClientAuthorities],
    ];

    /// <summary>Whether the same certificates and rules make its TLS.</summary>
    public bool IsSpokenLike(HttpsOptions other) =>
        CertificatePaths.SequenceEqual(other.CertificatePaths)
        && KeyPaths.SequenceEqual(other.KeyPaths)
        && KeyPasswordPaths.SequenceEqual(other.KeyPasswordPaths)
        && ClientAuthorities == other.ClientAuthorities
        && KeyLog == other.KeyLog;

    /// <summary>The certificates with the passwords of their keys.</summary>
    /// <exception cref="TlsException">A file of a password cannot be read, or holds none.</exception>
    public IReadOnlyList<CertificateFiles> ReadCertificates() => KeyPasswordPaths.Count == 0
        ? Certificates
        : [.. Certificates.Select((files, i) => files with { Password = ReadPassword(KeyPasswordPathOf(i)) })];

    /// <summary>The site with the fields that HTTPS adds. First of all, so that the site's own rules have the last word.</summary>
    public SiteOptions ApplyTo(SiteOptions site)
    {
        if (InsistSeconds is not long seconds)
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
                : throw new TlsException($"The file '{path}' holds no password in its first line.");
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            throw new TlsException($"The password in '{path}' cannot be read: {refusal.Message}", refusal);
        }
    }
}
