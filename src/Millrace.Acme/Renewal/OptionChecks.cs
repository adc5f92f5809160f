using System.Buffers.Text;
using System.Net;

namespace Millrace.Acme.Renewal;

/// <summary>Finds what cannot work in options, before anything is asked of an authority.</summary>
internal static class OptionChecks
{
    /// <summary>The names and the kind of the key of each certificate, in order.</summary>
    /// <exception cref="AcmeConfigurationException">The message names the option and the remedy.</exception>
    public static IReadOnlyList<(IReadOnlyList<string> Names, AcmeKeyKinds Kind)> Certificates(
        AcmeOptions options, AcmeChallengeTypes answered)
    {
        AcmeKeyKinds[] kinds = [.. new[] { AcmeKeyKinds.P256, AcmeKeyKinds.Rsa2048 }.Where(kind => options.KeyKinds.HasFlag(kind))];
        Require(options.Certificates.Count > 0, "There is no name to obtain a certificate for.");
        Require(kinds.Length > 0, "There is no kind of key to obtain certificates for: P256, Rsa2048 or both.");
        Require(
            options.ExternalAccount is not { } external || Base64Url.IsValid(external.HmacKey),
            "The HMAC key of the external account is not Base64Url: copy it as the authority shows it.");
        Require(
            options.DnsHook is not { } hook || !hook.Contains('/') || File.Exists(hook),
            $"The DNS hook '{options.DnsHook}' does not exist: check its path.");
        IReadOnlyList<IReadOnlyList<string>> lists = [.. options.Certificates.Select(CertificateNames.Normalize)];
        foreach (string name in lists.SelectMany(static names => names))
        {
            RequireProvable(name, answered, options.DnsHook is not null);
        }

        return [.. from names in lists from kind in kinds select (names, kind)];
    }

    private static void RequireProvable(string name, AcmeChallengeTypes answered, bool hasHook)
    {
        if (name.StartsWith("*.", StringComparison.Ordinal))
        {
            Require(hasHook, $"{name} can be proved by DNS only: name a program that creates TXT records (the DNS hook).");
        }
        else if (IPAddress.TryParse(name, out _))
        {
            Require(
                answered != AcmeChallengeTypes.None,
                $"{name} can be proved only by a server on port 80 (HTTP-01) or 443 (TLS-ALPN-01), and this one listens on neither.");
        }
        else
        {
            Require(
                hasHook || answered != AcmeChallengeTypes.None,
                $"{name} cannot be proved: listen on port 80 (HTTP-01) or 443 (TLS-ALPN-01), "
                + "or name a program that creates TXT records (the DNS hook).");
        }
    }

    private static void Require(bool condition, string otherwise)
    {
        if (!condition)
        {
            throw new AcmeConfigurationException(otherwise);
        }
    }
}
