using System.Globalization;
using System.Net;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Tls.Certificates;

/// <summary>Reads the files and names of certificates.</summary>
internal static class CertificateText
{
    /// <summary>Reads a file; the exception describes the failure.</summary>
    /// <exception cref="TlsException">It cannot be read.</exception>
    public static byte[] ReadFile(string path, string what)
    {
        try
        {
            return File.ReadAllBytes(path);
        }
        catch (Exception refusal) when (refusal is FileNotFoundException or DirectoryNotFoundException)
        {
            throw new TlsException($"The {what} '{path}' does not exist.", refusal);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            throw new TlsException($"The {what} '{path}' cannot be read: {refusal.Message}", refusal);
        }
    }

    /// <summary>Its hosts: the subject alternative names; the common name only if there are none, as clients do.</summary>
    public static IReadOnlyList<string> NamesOf(X509Certificate2 certificate)
    {
        var names = new List<string>();
        foreach (X509SubjectAlternativeNameExtension extension in certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>())
        {
            names.AddRange(extension.EnumerateDnsNames().Select(static name => name.ToLower(CultureInfo.InvariantCulture)));
        }

        string common = certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false);
        return names.Count > 0 || string.IsNullOrEmpty(common) ? names : [common.ToLower(CultureInfo.InvariantCulture)];
    }

    /// <summary>Its IP addresses.</summary>
    public static IReadOnlyList<IPAddress> AddressesOf(X509Certificate2 certificate) =>
    [
        .. certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>().SelectMany(static names => names.EnumerateIPAddresses()),
    ];
}
