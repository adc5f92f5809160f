using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Storage;

/// <summary>The private key of a certificate, of either kind. Its owner disposes of it. One thread at a time.</summary>
internal sealed class CertificateKey : IDisposable
{
    private readonly AsymmetricAlgorithm _key;

    private CertificateKey(AsymmetricAlgorithm key) => _key = key;

    public static CertificateKey Create(AcmeKeyKinds kind) => new(
        kind == AcmeKeyKinds.Rsa2048 ? RSA.Create(2048) : ECDsa.Create(ECCurve.NamedCurves.nistP256));

    /// <summary>The key among the blocks of a PEM.</summary>
    /// <exception cref="CryptographicException">There is none that is readable.</exception>
    public static CertificateKey FromPem(string pem)
    {
        ReadOnlySpan<char> rest = pem;
        while (PemEncoding.TryFind(rest, out PemFields block))
        {
            ReadOnlySpan<char> label = rest[block.Label];
            if (label.EndsWith("PRIVATE KEY"))
            {
                return FromPemBlock(rest[block.Location]);
            }

            rest = rest[block.Location.End..];
        }

        throw new CryptographicException("it has no private key");
    }

    public string ExportPem() => _key.ExportPkcs8PrivateKeyPem();

    public bool Belongs(X509Certificate2 certificate) =>
        _key.ExportSubjectPublicKeyInfo().AsSpan().SequenceEqual(certificate.PublicKey.ExportSubjectPublicKeyInfo());

    /// <summary>A signing request (PKCS #10) in DER, for the names and nothing else: the authority decides the rest.</summary>
    public byte[] CreateSigningRequest(IReadOnlyList<string> names)
    {
        var subject = new X500DistinguishedName(string.Empty);
        CertificateRequest request = _key is RSA rsa
            ? new CertificateRequest(subject, rsa, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1)
            : new CertificateRequest(subject, (ECDsa)_key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(SubjectNames.Extension(names.Select(AcmeIdentifier.Of)));
        return request.CreateSigningRequest();
    }

    public void Dispose() => _key.Dispose();

    private static CertificateKey FromPemBlock(ReadOnlySpan<char> pem)
    {
        ECDsa ecdsa = ECDsa.Create();
        try
        {
            ecdsa.ImportFromPem(pem);
            return new CertificateKey(ecdsa);
        }
        catch (Exception e) when (e is CryptographicException or ArgumentException)
        {
            // Not of this kind.
            ecdsa.Dispose();
        }

        RSA rsa = RSA.Create();
        try
        {
            rsa.ImportFromPem(pem);
            return new CertificateKey(rsa);
        }
        catch (Exception e) when (e is CryptographicException or ArgumentException)
        {
            rsa.Dispose();
            throw new CryptographicException("its private key is not readable", e);
        }
    }
}
