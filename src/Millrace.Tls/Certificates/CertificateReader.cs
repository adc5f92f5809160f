using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Tls.Certificates;

/// <summary>Reads the certificates of a file as DER, or reports what the file holds instead and how to convert it. Any thread.</summary>
internal static class CertificateReader
{
    private const string What = "certificate";

    /// <summary>The certificates, at least one, in the order of the file.</summary>
    /// <exception cref="TlsException">There is none, or one is damaged.</exception>
    public static IReadOnlyList<byte[]> Read(string path)
    {
        using PemFile file = PemFile.Read(path, What);
        return file.IsDer ? [ReadDer(file)] : ReadPem(file);
    }

    /// <summary>Reads certificates of authorities.</summary>
    /// <exception cref="TlsException">There is none, one is damaged, or the file holds a part that would be ignored.</exception>
    public static IReadOnlyList<byte[]> ReadAuthorities(string path)
    {
        using PemFile file = PemFile.Read(path, "file of authorities");
        if (file.Blocks.Any(static block => block.Label == "X509 CRL"))
        {
            throw new TlsException($"The file of authorities '{path}' holds a revocation list, which is not supported: clients that it "
                + "revokes would be served. Remove it, and the authorities whose clients must not be served.");
        }

        byte[][] authorities = file.IsDer ? [ReadDer(file)] : ReadCertificateBlocks(file);
        return authorities.Length > 0
            ? authorities
            : throw new TlsException($"'{path}' holds no certificates of authorities in PEM ('-----BEGIN CERTIFICATE-----'): "
                + "give the file with the authority's certificate.");
    }

    private static byte[] ReadDer(PemFile file)
    {
        string path = file.Path;
        return KindOf(file.Bytes) switch
        {
            X509ContentType.Cert => file.Bytes.ToArray(),
            X509ContentType.Pkcs12 => throw new TlsException(DescribePkcs12(path)),
            X509ContentType.Pkcs7 => throw new TlsException($"The {What} '{path}' is in PKCS#7, not in PEM: convert it with "
                + $"'openssl pkcs7 -inform DER -in {path} -print_certs -out {path}.pem'."),
            _ => throw new TlsException($"The {What} '{path}' is neither text nor a certificate in DER: give a PEM file, which begins with "
                + "'-----BEGIN CERTIFICATE-----'."),
        };
    }

    /// <summary>The message on a PKCS#12 file, with the command that converts it.</summary>
    public static string DescribePkcs12(string path) => $"The file '{path}' is in PKCS#12 (.pfx, .p12), not in PEM: convert it with "
        + $"'openssl pkcs12 -in {path} -noenc -out {path}.pem', which is then both the certificate and its key.";

    public static X509ContentType KindOf(ReadOnlySpan<byte> bytes)
    {
        try
        {
            return X509Certificate2.GetCertContentType(bytes);
        }
        catch (CryptographicException)
        {
            return X509ContentType.Unknown;
        }
    }

    private static byte[][] ReadPem(PemFile file)
    {
        byte[][] certificates = ReadCertificateBlocks(file);
        if (certificates.Length > 0)
        {
            return certificates;
        }

        string path = file.Path;
        throw new TlsException(file.Blocks.Select(static block => block.Label).FirstOrDefault() switch
        {
            "PKCS7" or "CMS" => $"The {What} '{path}' is in PKCS#7, which must be converted first: "
                + $"'openssl pkcs7 -in {path} -print_certs -out {path}.pem'.",
            "CERTIFICATE REQUEST" or "NEW CERTIFICATE REQUEST" => $"The {What} '{path}' is a request for a certificate: give the file "
                + "that the authority has returned for it.",
            null => $"'{path}' holds no certificate in PEM ('-----BEGIN CERTIFICATE-----'): give the file with the certificate and its "
                + "chain.",
            var label when label.EndsWith("PRIVATE KEY", StringComparison.Ordinal) =>
                $"'{path}' holds no certificate in PEM, but a private key: the certificate and its key may have been swapped.",
            var label => $"'{path}' holds no certificate in PEM ('-----BEGIN CERTIFICATE-----'), but '{label}'.",
        });
    }

    private static byte[][] ReadCertificateBlocks(PemFile file) =>
        [.. file.Blocks.Where(static block => block.IsCertificate).Select(block => ReadBlock(file, block))];

    private static byte[] ReadBlock(PemFile file, PemBlock block)
    {
        byte[] bytes = file.Decode(block);
        try
        {
            // RawData excludes what OpenSSL appends to a TRUSTED CERTIFICATE.
            using X509Certificate2 certificate = X509CertificateLoader.LoadCertificate(bytes);
            return certificate.RawData;
        }
        catch (CryptographicException refusal)
        {
            throw new TlsException($"The {What} '{file.Path}' is damaged: the block that begins in line {block.Line} is not a certificate. "
                + "Copy the file again.", refusal);
        }
    }
}
