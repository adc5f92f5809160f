using System.Buffers.Binary;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Acme.Storage;

/// <summary>
/// A certificate with its chain and its private key, as they are in one PEM, which belong together. Immutable. The leaf has no private key
/// and is left to the finalizer: there are few of them, and readers may hold one.
/// </summary>
internal sealed class StoredCertificate
{
    private const string RsaOid = "1.2.840.113549.1.1.1";

    private StoredCertificate(string pem, X509Certificate2 leaf)
    {
        Pem = pem;
        Leaf = leaf;
        NotBefore = new DateTimeOffset(leaf.NotBefore.ToUniversalTime());
        NotAfter = new DateTimeOffset(leaf.NotAfter.ToUniversalTime());
        Names = SubjectNames.Of(leaf);
        Fraction = BinaryPrimitives.ReadUInt32BigEndian(SHA256.HashData(leaf.RawDataMemory.Span)) / (double)uint.MaxValue;
    }

    public string Pem { get; }

    public X509Certificate2 Leaf { get; }

    public DateTimeOffset NotBefore { get; }

    public DateTimeOffset NotAfter { get; }

    public TimeSpan Lifetime => NotAfter - NotBefore;

    public IReadOnlySet<string> Names { get; }

    public AcmeKeyKinds Kind => Leaf.PublicKey.Oid.Value == RsaOid ? AcmeKeyKinds.Rsa2048 : AcmeKeyKinds.P256;

    /// <summary>
    /// From 0 to 1, different for each certificate and always the same for one: the random moments of its renewal are made of it, so that
    /// they stay the same after a restart and in every process.
    /// </summary>
    public double Fraction { get; }

    /// <param name="pem">The leaf first; the private key anywhere.</param>
    /// <exception cref="CryptographicException">It is not readable, or the key does not belong.</exception>
    public static StoredCertificate Parse(string pem)
    {
        var certificates = new X509Certificate2Collection();
        certificates.ImportFromPem(pem);
        if (certificates.Count == 0)
        {
            throw new CryptographicException("it has no certificate");
        }

        using CertificateKey key = CertificateKey.FromPem(pem);
        return key.Belongs(certificates[0])
            ? new StoredCertificate(pem, certificates[0])
            : throw new CryptographicException("its private key does not belong to its certificate");
    }

    /// <summary>Whether it is for a name, or for all names with another first label.</summary>
    public bool Covers(string name) => Names.Contains(name) || (name.IndexOf('.') is > 0 and var dot && Names.Contains("*" + name[dot..]));

    /// <summary>Whether its private key is this one.</summary>
    public bool HasKey(CertificateKey key) => key.Belongs(Leaf);
}
