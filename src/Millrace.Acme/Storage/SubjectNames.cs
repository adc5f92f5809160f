using System.Net;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Storage;

/// <summary>The hosts and addresses in certificates and requests (RFC 5280, section 4.2.1.6).</summary>
internal static class SubjectNames
{
    public static X509Extension Extension(IEnumerable<AcmeIdentifier> identifiers, bool isCritical = false)
    {
        var builder = new SubjectAlternativeNameBuilder();
        foreach (AcmeIdentifier identifier in identifiers)
        {
            if (identifier.Type == "ip")
            {
                builder.AddIpAddress(IPAddress.Parse(identifier.Value));
            }
            else
            {
                builder.AddDnsName(identifier.Value);
            }
        }

        return builder.Build(isCritical);
    }

    public static IReadOnlySet<string> Of(X509Certificate2 certificate)
    {
        var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (X509SubjectAlternativeNameExtension extension in certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>())
        {
            names.UnionWith(extension.EnumerateDnsNames());
            names.UnionWith(extension.EnumerateIPAddresses().Select(static address => address.ToString()));
        }

        return names;
    }
}
