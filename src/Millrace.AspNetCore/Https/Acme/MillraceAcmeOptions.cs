using Millrace.Acme;
using Millrace.AspNetCore.Https.Acme;

namespace Millrace.AspNetCore;

/// <summary>
/// Which certificates an application obtains by ACME and renews, for all of its endpoints. They come from
/// <c>services.Configure&lt;MillraceAcmeOptions&gt;</c>, on top of which the endpoints' delegates are applied, and are read when the first
/// endpoint is bound. Options that cannot be used fail the start.
/// </summary>
public sealed class MillraceAcmeOptions
{
    /// <summary>
    /// The certificates: each entry is one, and names joined by commas share one: <c>example.org,www.example.org</c>. Names are hosts, IP
    /// addresses where the authority offers that, and <c>*.example.org</c>, which needs a <see cref="DnsHook"/>.
    /// </summary>
    public IList<string> Domains { get; } = [];

    /// <summary>Where the authority sends warnings; null for nowhere.</summary>
    public string? Email { get; set; }

    /// <summary>
    /// The folder for the account, the certificates and their keys, relative to the content root. One process obtains; others that have the
    /// same folder serve what it obtains.
    /// </summary>
    /// <remarks>
    /// Defaults to <c>acme</c> in systemd's <c>$STATE_DIRECTORY</c>, else to a folder of the application in the user's data folder:
    /// <c>~/.local/share/millrace/aspnetcore/APPLICATION</c>.
    /// </remarks>
    public string? Directory { get; set; }

    /// <summary>The authority's directory.</summary>
    /// <remarks>Defaults to Let's Encrypt. For trials there is <see cref="AcmeOptions.LetsEncryptStaging"/>.</remarks>
    public Uri Server { get; set; } = AcmeOptions.LetsEncrypt;

    /// <summary>
    /// A PEM file of the roots that the authority's own server is verified by, relative to the content root; null for the system's.
    /// </summary>
    public string? RootsFile { get; set; }

    /// <summary>An account with the authority that exists outside of ACME; null for none.</summary>
    public ExternalAccount? ExternalAccount { get; set; }

    /// <summary>A profile that the authority offers, such as <c>shortlived</c>; null for its default.</summary>
    public string? Profile { get; set; }

    /// <summary>The kinds of keys; a certificate is obtained for each. Kestrel's own TLS serves the first of a name only.</summary>
    public AcmeKeyKinds KeyKinds { get; set; } = AcmeKeyKinds.P256;

    /// <summary>A program that creates and removes TXT records: see <see cref="AcmeOptions.DnsHook"/>. Null for none.</summary>
    public string? DnsHook { get; set; }

    /// <summary>The common name of the issuer at the end of the chain that is preferred; null for the authority's choice.</summary>
    public string? PreferredChain { get; set; }

    /// <exception cref="AcmeConfigurationException">There is no domain, or no place for the folder.</exception>
    internal AcmeOptions ToOptions(ApplicationFolders folders)
    {
        const StringSplitOptions Names = StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries;
        string[] certificates = [.. Domains.Distinct(StringComparer.OrdinalIgnoreCase)];
        if (certificates.Length == 0)
        {
            throw new AcmeConfigurationException(
                $"There is no domain to obtain a certificate for: add one to {nameof(MillraceAcmeOptions)}.{nameof(Domains)}, as by "
                + "UseAcme(acme => acme.Domains.Add(\"example.org\")).");
        }

        return new AcmeOptions
        {
            Certificates = [.. certificates.Select(static entry => entry.Split(',', Names))],
            Directory = Directory is { Length: > 0 } ? folders.Resolve(Directory) : folders.FindDataFolder(),
            Email = Email is { Length: > 0 } ? Email : null,
            DirectoryUrl = Server,
            RootsFile = RootsFile is null ? null : folders.Resolve(RootsFile),
            ExternalAccount = ExternalAccount,
            Profile = Profile,
            KeyKinds = KeyKinds,
            DnsHook = DnsHook?.Contains('/') == true ? folders.Resolve(DnsHook) : DnsHook,
            PreferredChain = PreferredChain,
        };
    }
}
