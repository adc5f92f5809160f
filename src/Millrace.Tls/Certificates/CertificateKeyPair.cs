using System.Globalization;
using System.Net;
using System.Runtime.InteropServices;
using System.Security.Cryptography.X509Certificates;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>
/// A certificate, its chain and its private key in OpenSSL's memory; the key is verified to sign for the certificate. Dispose frees them;
/// contexts keep their own references. One thread.
/// </summary>
internal sealed unsafe class CertificateKeyPair : IDisposable
{
    private const int OverrideOthers = 1;

    private readonly List<nint> _certificates = [];
    private nint _key;

    private CertificateKeyPair(nint key)
    {
        _key = key;
    }

    /// <summary>Facts about the certificate, known before it is used.</summary>
    public CertificateFacts Facts { get; private set; } = null!;

    public bool IsReordered { get; private set; }

    /// <summary>The subjects of certificates that cannot lead from the key's to a root, and are left out.</summary>
    public IReadOnlyList<string> Unrelated { get; private set; } = [];

    /// <summary>Finds the certificate that a key signs for; the others are its chain.</summary>
    /// <param name="certificates">In DER.</param>
    /// <param name="key">An <c>EVP_PKEY</c>; the result owns it, and on failure it is freed at once.</param>
    /// <param name="certificateSource">The source of the certificates, for messages.</param>
    /// <param name="keySource">The source of the key.</param>
    /// <exception cref="TlsException">The key matches none of them.</exception>
    public static CertificateKeyPair Match(IReadOnlyList<byte[]> certificates, nint key, string certificateSource, string keySource)
    {
        var match = new CertificateKeyPair(key);
        try
        {
            // As of a chain that was appended to a file with the certificate.
            certificates = [.. certificates.DistinctBy(Convert.ToHexString)];
            foreach (byte[] certificate in certificates)
            {
                match._certificates.Add(Parse(certificate, certificateSource));
            }

            int own = match._certificates.FindIndex(handle => LibCrypto.X509_check_private_key(handle, key) == 1);
            OpenSslErrors.Clear();
            if (own < 0)
            {
                throw new TlsException(match.DescribeMismatch(certificateSource, keySource));
            }

            // X509_check_private_key compares only the public key in the key's file: a signature proves the private one.
            if (!SignsFor(key, match._certificates[own]))
            {
                throw new TlsException($"The key in '{keySource}' does not match the certificate in '{certificateSource}': it names the "
                    + "same public key, but its signatures are not valid. Copy the key again, or have a certificate made for it.");
            }

            using X509Certificate2 leaf = X509CertificateLoader.LoadCertificate(certificates[own]);
            match.Facts = CertificateFacts.Of(leaf);
            match.Order(own, certificates);
            return match;
        }
        catch
        {
            match.Dispose();
            throw;
        }
    }

    /// <summary>Adds it to a context, in addition to those with other kinds of keys.</summary>
    /// <exception cref="TlsException">OpenSSL's policy refuses it.</exception>
    public void InstallInto(nint context, string source) =>
        Install(source, chain => LibSsl.SSL_CTX_use_cert_and_key(context, _certificates[0], _key, chain, OverrideOthers));

    /// <summary>The same for one connection, which keeps its own references.</summary>
    /// <exception cref="TlsException">OpenSSL's policy refuses it.</exception>
    public void InstallIntoConnection(nint ssl, string source) =>
        Install(source, chain => LibSsl.SSL_use_cert_and_key(ssl, _certificates[0], _key, chain, OverrideOthers));

    private void Install(string source, Func<nint, int> use)
    {
        nint chain = LibCrypto.OPENSSL_sk_new_null();
        try
        {
            foreach (nint issuer in _certificates.Skip(1))
            {
                RequireMemory(LibCrypto.OPENSSL_sk_push(chain, issuer) > 0);
            }

            OpenSslErrors.Clear();
            if (use(chain) != 1)
            {
                throw new TlsException(DescribeRefusal(source, OpenSslErrors.Drain()));
            }
        }
        finally
        {
            LibCrypto.OPENSSL_sk_free(chain);
        }
    }

    public void Dispose()
    {
        _certificates.ForEach(LibCrypto.X509_free);
        _certificates.Clear();
        LibCrypto.EVP_PKEY_free(_key);
        _key = 0;
    }

    /// <summary>Parses a certificate into OpenSSL's memory, which the caller frees.</summary>
    public static nint Parse(byte[] certificate, string source)
    {
        fixed (byte* bytes = certificate)
        {
            byte* next = bytes;
            nint handle = LibCrypto.d2i_X509(0, &next, certificate.Length);
            OpenSslErrors.Clear();
            return handle != 0 ? handle : throw new TlsException($"'{source}' holds a certificate that OpenSSL cannot read.");
        }
    }

    /// <summary>Signs as a handshake does, with the key's usual digest, and verifies with the certificate.</summary>
    private static bool SignsFor(nint key, nint certificate)
    {
        nint signing = LibCrypto.EVP_MD_CTX_new();
        nint verifying = LibCrypto.EVP_MD_CTX_new();
        try
        {
            RequireMemory(signing != 0 && verifying != 0);
            ReadOnlySpan<byte> message = "millrace: does this key sign for its certificate?"u8;
            nuint count = 0;
            if (LibCrypto.EVP_DigestSignInit_ex(signing, null, null, 0, null, key, null) != 1
                || LibCrypto.EVP_DigestSign(signing, [], ref count, message, (nuint)message.Length) != 1)
            {
                return false;
            }

            byte[] signature = new byte[count];
            return LibCrypto.EVP_DigestSign(signing, signature, ref count, message, (nuint)message.Length) == 1
                && LibCrypto.EVP_DigestVerifyInit_ex(verifying, null, null, 0, null, LibCrypto.X509_get0_pubkey(certificate), null) == 1
                && LibCrypto.EVP_DigestVerify(verifying, signature, count, message, (nuint)message.Length) == 1;
        }
        finally
        {
            LibCrypto.EVP_MD_CTX_free(signing);
            LibCrypto.EVP_MD_CTX_free(verifying);
            OpenSslErrors.Clear();
        }
    }

    /// <summary>
    /// Orders the certificates: the key's first and then, as TLS 1.2 requires (RFC 5246, section 7.4.2), each after the one it has issued.
    /// Other authorities follow, as a client may know another way to a root.
    /// </summary>
    private void Order(int own, IReadOnlyList<byte[]> encoded)
    {
        List<nint> given = [.. _certificates];
        List<nint> left = [.. given];
        var ordered = new List<nint>();
        for (nint next = given[own]; next != 0; next = left.Find(issuer => LibCrypto.X509_check_issued(issuer, ordered[^1]) == 0))
        {
            left.Remove(next);
            ordered.Add(next);
        }

        List<nint> unrelated = left.FindAll(static other => LibCrypto.X509_check_ca(other) == 0);
        OpenSslErrors.Clear();
        ordered.AddRange(left.Except(unrelated));
        IsReordered = !ordered.SequenceEqual(given.Except(unrelated));
        Unrelated = [.. unrelated.Select(other => SubjectOf(encoded[given.IndexOf(other)]))];
        _certificates.Clear();
        _certificates.AddRange(ordered);
        unrelated.ForEach(LibCrypto.X509_free);
    }

    private static string SubjectOf(byte[] encoded)
    {
        using X509Certificate2 certificate = X509CertificateLoader.LoadCertificate(encoded);
        return certificate.Subject;
    }

    private string DescribeMismatch(string certificateSource, string keySource)
    {
        string mismatch = $"The key in '{keySource}' does not match the certificate in '{certificateSource}'";
        string kind = KindOf(_key);
        string wanted = KindOf(LibCrypto.X509_get0_pubkey(_certificates[0]));
        return kind == wanted ? $"{mismatch}: give the key that the certificate was made for."
            : $"{mismatch}: it is of type {kind}, the certificate's is {wanted}.";
    }

    private static string KindOf(nint key) =>
        key == 0 ? "unknown" : Marshal.PtrToStringUTF8((nint)LibCrypto.EVP_PKEY_get0_type_name(key)) ?? "unknown";

    private static string DescribeRefusal(string source, OpenSslFailure failure) =>
        failure.Has(SslConstants.SslKeyTooSmall)
                ? $"The key of the certificate in '{source}' is too short for this machine's OpenSSL, and for clients: make one with RSA "
                    + "of 2048 bits, or P-256, and a certificate for it."
            : failure.Has(SslConstants.SslAuthorityKeyTooSmall)
                ? $"A certificate in the chain of '{source}' has a key that is too short for this machine's OpenSSL, and for clients: "
                    + "have the certificate made by another authority."
            : failure.Has(SslConstants.SslAuthorityDigestTooWeak)
                ? $"A certificate in '{source}' is signed by a digest (MD5 or SHA-1) that is too weak for this machine's OpenSSL, and for "
                    + "clients: have it issued again."
            : failure.Has(SslConstants.SslUnknownCertificateType)
                ? $"The certificate in '{source}' has a kind of key that TLS does not support: RSA, ECDSA, Ed25519 and Ed448 can be served."
            : $"OpenSSL does not take the certificate in '{source}': {failure}.";

    private static void RequireMemory(bool isThere)
    {
        if (!isThere)
        {
            throw new InsufficientMemoryException("OpenSSL has no memory for a certificate.");
        }
    }
}

/// <summary>Facts about a certificate, read before OpenSSL has it.</summary>
/// <param name="Names">Its hosts, in lower case, possibly <c>*.example.org</c>.</param>
/// <param name="Addresses">Its addresses.</param>
/// <param name="KeyKind">The object identifier of its key's algorithm: a context has one certificate of each.</param>
/// <param name="NotBefore">The start of its validity, in local time.</param>
/// <param name="NotAfter">The end of its validity.</param>
internal sealed record CertificateFacts(
    IReadOnlyList<string> Names, IReadOnlyList<IPAddress> Addresses, string KeyKind, DateTime NotBefore, DateTime NotAfter)
{
    public static CertificateFacts Of(X509Certificate2 certificate) => new(
        NamesOf(certificate),
        AddressesOf(certificate),
        certificate.PublicKey.Oid.Value ?? "",
        certificate.NotBefore,
        certificate.NotAfter);

    /// <summary>
    /// Whether both have the same hosts and different kinds of keys, so that a client gets the one whose signatures it supports.
    /// </summary>
    public bool IsPairedWith(CertificateFacts other) =>
        KeyKind != other.KeyKind && Names.Count > 0 && Names.ToHashSet().SetEquals(other.Names);

    /// <summary>Its hosts: the subject alternative names; the common name only if there are none, as clients do.</summary>
    private static List<string> NamesOf(X509Certificate2 certificate)
    {
        var names = new List<string>();
        foreach (X509SubjectAlternativeNameExtension extension in certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>())
        {
            names.AddRange(extension.EnumerateDnsNames().Select(static name => name.ToLower(CultureInfo.InvariantCulture)));
        }

        string common = certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false);
        return names.Count > 0 || string.IsNullOrEmpty(common) ? names : [common.ToLower(CultureInfo.InvariantCulture)];
    }

    private static IPAddress[] AddressesOf(X509Certificate2 certificate) =>
    [
        .. certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>().SelectMany(static names => names.EnumerateIPAddresses()),
    ];
}
