using System.Buffers;
using System.Runtime.InteropServices;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Certificates;

/// <summary>
/// The <c>SSL_CTX</c> of a client: the authorities that it trusts, and its settings. Immutable and reference-counted: held by the client,
/// and by a connection until it has its <c>SSL</c>, which keeps OpenSSL's part. Any thread.
/// </summary>
internal sealed unsafe class ClientContext
{
    public const string Http11 = "http/1.1";

    private static int LiveCount;

    private ReferenceCount _holders = new();

    private ClientContext(nint handle)
    {
        Handle = handle;
        Interlocked.Increment(ref LiveCount);
    }

    public static int Live => Volatile.Read(ref LiveCount);

    public nint Handle { get; }

    private static ReadOnlySpan<byte> Protocols => "\u0008http/1.1"u8;

    /// <param name="authoritiesFile">The certificates to trust; null for the system's.</param>
    /// <param name="isForQuic">Whether its connections are those of QUIC, and no others.</param>
    /// <exception cref="TlsException">There are none, or one is not valid; the message names the remedy.</exception>
    public static ClientContext Make(string? authoritiesFile, bool isForQuic = false)
    {
        var made = new ClientContext(ContextSettings.New(LibSsl.TLS_client_method()));
        try
        {
            made.Configure(isForQuic);
            if (authoritiesFile is null)
            {
                SystemAuthorities.TrustIn(made.Handle);
            }
            else
            {
                made.Trust(authoritiesFile);
            }

            return made;
        }
        catch
        {
            made.Release();
            throw;
        }
    }

    public bool TryHold() => _holders.TryHold();

    public void Release()
    {
        if (_holders.IsLastToRelease())
        {
            LibSsl.SSL_CTX_free(Handle);
            Interlocked.Decrement(ref LiveCount);
        }
    }

    private void Configure(bool isForQuic)
    {
        ContextSettings.Apply(Handle, isForQuic ? TlsVersion.Tls13 : TlsVersion.Tls12);
        ContextSettings.ReportSecrets(Handle);
        LibSsl.SSL_CTX_set_verify(Handle, SslConstants.VerifyPeer, &ClientCallbacks.OnVerify);
        ContextSettings.Require(
            LibSsl.SSL_CTX_set_alpn_protos(Handle, Protocols, (uint)Protocols.Length) == 0 ? 1 : 0, "application protocols");
        _ = LibSsl.SSL_CTX_ctrl(Handle, SslConstants.ControlSessionCacheMode, SslConstants.SessionCacheClientOnly, []);
        LibSsl.SSL_CTX_sess_set_new_cb(Handle, &ClientCallbacks.OnSession);
        if (isForQuic)
        {
            QuicContexts.Configure(Handle);
        }
        else
        {
            QuicContexts.RecognizeParameters(Handle, isClient: true);
        }
    }

    /// <summary>Trusts the certificates of a file: authorities, or those of servers themselves.</summary>
    private void Trust(string path)
    {
        foreach (byte[] authority in CertificateReader.ReadAuthorities(path))
        {
            ContextSettings.Trust(Handle, authority, path);
        }

        _ = LibCrypto.X509_STORE_set_flags(LibSsl.SSL_CTX_get_cert_store(Handle), SslConstants.TrustPartialChain);
    }
}

/// <summary>
/// The system's authorities, as OpenSSL finds them: a file and folders of hashed names, or those of SSL_CERT_FILE and SSL_CERT_DIR. All are
/// read at once: OpenSSL itself would read from the folders in a handshake, on a reactor.
/// </summary>
internal static unsafe class SystemAuthorities
{
    private const int HashDigits = 8;

    private static readonly SearchValues<char> HexDigits = SearchValues.Create("0123456789abcdef");

    /// <exception cref="TlsException">There are none.</exception>
    public static void TrustIn(nint context)
    {
        nint store = LibSsl.SSL_CTX_get_cert_store(context);
        string file = Environment.GetEnvironmentVariable("SSL_CERT_FILE") ?? TextOf(LibCrypto.X509_get_default_cert_file());
        string folders = Environment.GetEnvironmentVariable("SSL_CERT_DIR") ?? TextOf(LibCrypto.X509_get_default_cert_dir());
        bool hasAny = LibCrypto.X509_STORE_load_file(store, file) == 1;
        foreach (string folder in folders.Split(':', StringSplitOptions.RemoveEmptyEntries).Where(Directory.Exists))
        {
            foreach (string path in Directory.EnumerateFiles(folder).Where(IsHashed))
            {
                hasAny |= LibCrypto.X509_STORE_load_file(store, path) == 1;
            }
        }

        OpenSslErrors.Clear();
        if (!hasAny)
        {
            throw new TlsException($"This machine has no certificates of authorities ('{file}', '{folders}'), so no server can be "
                + "verified: install them (the package ca-certificates), or give a file of authorities.");
        }
    }

    /// <summary>Whether it is named by the hash of its subject, as <c>5ed36f99.0</c>.</summary>
    private static bool IsHashed(string path)
    {
        ReadOnlySpan<char> name = Path.GetFileName(path.AsSpan());
        return name.Length > HashDigits + 1 && name[HashDigits] == '.'
            && !name[..HashDigits].ContainsAnyExcept(HexDigits) && !name[(HashDigits + 1)..].ContainsAnyExceptInRange('0', '9');
    }

    private static string TextOf(byte* text) => Marshal.PtrToStringUTF8((nint)text) ?? "";
}
