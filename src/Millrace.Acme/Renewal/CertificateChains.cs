using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Acme.Renewal;

/// <summary>Chooses among the chains that an authority offers for one certificate.</summary>
internal static class CertificateChains
{
    /// <param name="chains">In PEM; the default first.</param>
    /// <param name="preferred">The common name of the issuer of the last certificate; null for the default chain.</param>
    /// <param name="names">For the log.</param>
    /// <param name="log">Hears of a preference that cannot be met.</param>
    public static string Choose(IReadOnlyList<string> chains, string? preferred, IReadOnlyList<string> names, AcmeLog log)
    {
        if (preferred is null || chains.Count == 0)
        {
            return chains.Count == 0 ? string.Empty : chains[0];
        }

        List<string> ends = [.. chains.Select(End)];
        int index = ends.FindIndex(end => string.Equals(end, preferred, StringComparison.OrdinalIgnoreCase));
        if (index < 0)
        {
            log.ChainMissing(preferred, string.Join(", ", names), string.Join(", ", ends.Select(static end => $"'{end}'")));
        }

        return chains[Math.Max(index, 0)];
    }

    private static string End(string chain)
    {
        var certificates = new X509Certificate2Collection();
        try
        {
            certificates.ImportFromPem(chain);
            return certificates.Count > 0 ? certificates[^1].GetNameInfo(X509NameType.SimpleName, forIssuer: true) : string.Empty;
        }
        catch (CryptographicException)
        {
            // Verified later, if it is the one that is chosen.
            return string.Empty;
        }
        finally
        {
            foreach (X509Certificate2 certificate in certificates)
            {
                certificate.Dispose();
            }
        }
    }
}
