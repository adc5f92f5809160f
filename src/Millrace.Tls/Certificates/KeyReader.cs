using System.Security.Cryptography.X509Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>
/// Reads the private key of a file into OpenSSL's memory, or reports what the file holds instead and the remedy. The caller owns the
/// result, an <c>EVP_PKEY</c>. Any thread.
/// </summary>
internal static unsafe class KeyReader
{
    private const string What = "key";

    /// <param name="path">The file; the first of several keys is read.</param>
    /// <param name="password">Its password, with a final zero byte; null for a key that is not encrypted.</param>
    /// <param name="isCertificates">Whether it was not named as the key's file, but is that of the certificate.</param>
    /// <exception cref="TlsException">It cannot be read.</exception>
    public static nint Read(string path, byte[]? password, bool isCertificates)
    {
        using PemFile file = PemFile.Read(path, What);
        if (file.IsDer)
        {
            return ReadDer(file);
        }

        PemBlock? block = file.Blocks.Where(static block => block.IsPrivateKey).Cast<PemBlock?>().FirstOrDefault();
        return block is { Label: not "OPENSSH PRIVATE KEY" } found
            ? ReadPem(file, found, password)
            : throw new TlsException(Describe(file, isCertificates));
    }

    /// <summary>Parses an unencrypted key in DER; 0 on failure.</summary>
    public static nint ReadDer(ReadOnlySpan<byte> bytes)
    {
        OpenSslErrors.Clear();
        fixed (byte* first = bytes)
        {
            byte* next = first;
            nint key = LibCrypto.d2i_AutoPrivateKey(0, &next, bytes.Length);
            OpenSslErrors.Clear();
            return key;
        }
    }

    private static nint ReadDer(PemFile file)
    {
        string path = file.Path;
        if (ReadDer(file.Bytes) is var key and not 0)
        {
            return key;
        }

        throw new TlsException(CertificateReader.KindOf(file.Bytes) switch
        {
            X509ContentType.Pkcs12 => CertificateReader.DescribePkcs12(path),
            X509ContentType.Cert => $"'{path}' holds no private key, but a certificate in DER: the certificate and its key may have been "
                + "swapped.",
            _ when IsEncryptedDer(file.Bytes) => $"The key in '{path}' is encrypted, and in DER: convert it with "
                + $"'openssl pkey -inform DER -in {path} -out {path}.pem'.",
            _ => $"The {What} '{path}' is neither text nor a private key in DER: give a PEM file, which begins with "
                + "'-----BEGIN PRIVATE KEY-----'.",
        });
    }

    /// <summary>EncryptedPrivateKeyInfo (RFC 5958) begins with an algorithm of PKCS#5 or PKCS#12, other keys with a version.</summary>
    private static bool IsEncryptedDer(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> pkcs5 = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05];
        ReadOnlySpan<byte> pkcs12 = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C];
        ReadOnlySpan<byte> head = bytes[..Math.Min(bytes.Length, 24)];
        return head.IndexOf(pkcs5) >= 0 || head.IndexOf(pkcs12) >= 0;
    }

    private static nint ReadPem(PemFile file, PemBlock block, byte[]? password)
    {
        OpenSslErrors.Clear();
        ReadOnlySpan<byte> text = file.TextOf(block);
        fixed (byte* bytes = text, passwordBytes = password)
        {
            nint bio = LibCrypto.BIO_new_mem_buf(bytes, text.Length);
            nint key = bio == 0 ? 0 : LibCrypto.PEM_read_bio_PrivateKey(bio, 0, &HandshakeCallbacks.OnPassword, passwordBytes);
            _ = LibCrypto.BIO_free(bio);
            OpenSslFailure failure = OpenSslErrors.Drain();
            return key != 0 ? key : throw new TlsException(DescribeFailure(file, block, password is not null, failure));
        }
    }

    private static string DescribeFailure(PemFile file, PemBlock block, bool hasPassword, OpenSslFailure failure)
    {
        string path = file.Path;
        bool isEncrypted = file.TextOf(block).IndexOf("ENCRYPTED"u8) >= 0;
        return !isEncrypted
                ? $"The {What} '{path}' is damaged: the block that begins in line {block.Line} is not a private key that OpenSSL knows. "
                    + "Copy the file again, or make a new key with 'openssl genpkey'."
            : !hasPassword
                ? $"The key in '{path}' is encrypted: name a file with its password (--key-password), or decrypt it with 'openssl pkey -in "
                    + $"{path} -out FILE'."
            : failure.Has(SslConstants.EvpAlgorithmUnsupported)
                ? $"The key in '{path}' is encrypted by an algorithm (such as DES or RC2) that OpenSSL 3 has only in its legacy provider. "
                    + $"Encrypt it again with 'openssl pkcs8 -topk8 -provider legacy -provider default -in {path} -out FILE'."
            : $"The key in '{path}' cannot be decrypted with the given password: check that both belong together.";
    }

    private static string Describe(PemFile file, bool isCertificates)
    {
        string path = file.Path;
        return file.Blocks.Select(static block => block.Label).FirstOrDefault() switch
        {
            "OPENSSH PRIVATE KEY" => $"The key in '{path}' is in OpenSSH's format: convert it with 'ssh-keygen -p -m PEM -f {path}', which "
                + "changes the file.",
            { } label when label.EndsWith("PUBLIC KEY", StringComparison.Ordinal) =>
                $"'{path}' holds a public key, and the certificate needs the private one.",
            "CERTIFICATE" or "X509 CERTIFICATE" or "TRUSTED CERTIFICATE" =>
                $"'{path}' holds a certificate but no private key: "
                    + (isCertificates ? "also name the file with its key (--key)." : "--key must name the file with the key."),
            null => $"'{path}' holds no private key in PEM ('-----BEGIN PRIVATE KEY-----'): give the file of the certificate's key.",
            { } label => $"'{path}' holds no private key in PEM ('-----BEGIN PRIVATE KEY-----'), but '{label}'.",
        };
    }
}
