using System.Globalization;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Tls.Certificates;

/// <summary>What certificates and their files say, read for people and for SNI.</summary>
internal static class CertificateText
{
    /// <summary>The bytes of a file, or why there are none, in words.</summary>
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

    /// <summary>The hosts it is for: its alternative names; the common name only where there are none, as clients read it.</summary>
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

    /// <summary>Says so where clients will not like its dates.</summary>
    public static void CheckDates(X509Certificate2 certificate, string place, TlsLog log)
    {
        DateTime now = DateTime.Now;
        if (now > certificate.NotAfter)
        {
            log.CertificateExpired(place, certificate.NotAfter);
        }
        else if (now < certificate.NotBefore)
        {
            log.CertificateNotYetValid(place, certificate.NotBefore);
        }
    }
}
