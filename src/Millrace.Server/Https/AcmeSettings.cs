using Millrace.Acme;
using Millrace.Acme.Storage;
using Millrace.Interop.Files;
using Millrace.Server.Configuration;
using Millrace.Tls;

namespace Millrace.Server.Https;

/// <summary>Which certificates the server obtains itself, as configured. Immutable.</summary>
internal sealed record AcmeSettings
{
    /// <summary>The account's contact; empty for none. Null: certificates are not obtained.</summary>
    public string? Email { get; init; }

    public bool IsOn => Email is not null;

    /// <summary>The names of each certificate. Empty: one for each host.</summary>
    public IReadOnlyList<IReadOnlyList<string>> Domains { get; init; } = [];

    public string? Directory { get; init; }

    public Uri? Server { get; init; }

    public bool IsStaging { get; init; }

    public string? RootsFile { get; init; }

    public string? ExternalAccountFile { get; init; }

    public string? Profile { get; init; }

    public AcmeKeyKinds KeyKinds { get; init; } = AcmeKeyKinds.P256;

    public string? PreferredChain { get; init; }

    public string? DnsHook { get; init; }

    public Uri DirectoryUrl => Server ?? (IsStaging ? AcmeOptions.LetsEncryptStaging : AcmeOptions.LetsEncrypt);

    /// <summary>The names of each certificate, for these hosts.</summary>
    public IReadOnlyList<IReadOnlyList<string>> NamesFor(IEnumerable<HostedSite> hosts) => Domains.Count > 0
        ? Domains
        : [.. hosts.Select(static host => host.Name.TrimEnd('.').ToLowerInvariant()).Where(static name => name.Length > 0)
            .Select(static name => (IReadOnlyList<string>)[name])];

    /// <summary>The folder, configured or not.</summary>
    /// <param name="user">The user that the process becomes; null if it stays who it is.</param>
    /// <exception cref="TlsException">None is configured, and there is no other place.</exception>
    public string ResolveDirectory(string? user) => (Directory ?? DefaultFolders.OfService) is { } folder ? folder
        : user is not null ? throw new TlsException(
            "--user does not say where that user keeps certificates: add --acme-dir, for example /var/lib/millrace/acme.")
        : DefaultFolders.OfUser is { } data ? Path.Combine(data, "acme")
        : throw new TlsException("There is no user data folder for certificates: set HOME, or use --acme-dir.");

    /// <exception cref="TlsException">The file of the external account cannot be used, or there is no folder.</exception>
    public AcmeOptions ToOptions(ServeOptions options) => new()
    {
        Certificates = NamesFor(options.Hosts),
        Directory = ResolveDirectory(options.Service.User),
        Email = Email is { Length: > 0 } ? Email : null,
        DirectoryUrl = DirectoryUrl,
        RootsFile = RootsFile,
        ExternalAccount = ExternalAccountFile is null ? null : ReadExternalAccount(ExternalAccountFile),
        Profile = Profile,
        KeyKinds = KeyKinds,
        DnsHook = DnsHook,
        PreferredChain = PreferredChain,
    };

    private static ExternalAccount ReadExternalAccount(string path)
    {
        try
        {
            return File.ReadLines(path).Take(2).Select(static line => line.Trim()).ToArray() is [{ Length: > 0 } id, { Length: > 0 } key]
                ? new ExternalAccount(id, key)
                : throw new TlsException($"'{path}' must have the key ID in its first line and the HMAC key in its second.");
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            throw new TlsException(
                $"The file of the external account '{path}' cannot be read: {FileProblem.Of(path, refusal)}. "
                    + FileProblem.RemedyOf(refusal, "Name a file that this user may read."),
                refusal)
            {
                IsMistake = FileProblem.IsMistake(path, refusal),
            };
        }
    }
}
