using System.Collections.Concurrent;
using System.Net.Security;
using System.Runtime.InteropServices;
using System.Security.Authentication;
using System.Text;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>
/// The version, cipher suite and key exchange group of a connection, with their names for logs. One object for each combination, of which
/// there are a few dozen, so that a handshake allocates none. Immutable; any thread.
/// </summary>
internal sealed unsafe class TlsParameters
{
    private static readonly ConcurrentDictionary<(int Version, ushort Cipher, long Group), TlsParameters> All = new();

    private readonly byte[] _version;
    private readonly byte[] _cipher;
    private readonly byte[] _group;

    private TlsParameters(int version, ushort cipher, string? group)
    {
        bool isTls13 = version == SslConstants.Tls13Version;
#pragma warning disable CA5397 // The value reports what was negotiated; it selects nothing.
        Protocol = isTls13 ? SslProtocols.Tls13 : SslProtocols.Tls12;
#pragma warning restore CA5397
        CipherSuite = (TlsCipherSuite)cipher;
        Group = group;
        GroupTag = new("group", group);
        _version = isTls13 ? "1.3"u8.ToArray() : "1.2"u8.ToArray();
        _cipher = Encoding.ASCII.GetBytes(CipherSuite.ToString());
        _group = Encoding.ASCII.GetBytes(group ?? "");
    }

    public SslProtocols Protocol { get; }

    public TlsCipherSuite CipherSuite { get; }

    /// <summary>The name in IANA's registry; null if OpenSSL knows none.</summary>
    public string? Group { get; }

    public KeyValuePair<string, object?> GroupTag { get; }

    public ReadOnlySpan<byte> VersionText => _version;

    public ReadOnlySpan<byte> CipherText => _cipher;

    /// <summary><see cref="Group"/>, or empty.</summary>
    public ReadOnlySpan<byte> GroupText => _group;

    /// <summary>Those of an <c>SSL</c> whose handshake is complete.</summary>
    public static TlsParameters Of(nint ssl)
    {
        int version = LibSsl.SSL_version(ssl);
        ushort cipher = LibSsl.SSL_CIPHER_get_protocol_id(LibSsl.SSL_get_current_cipher(ssl));

        // A number of OpenSSL's own, or one of TLS with a bit that says so; SSL_group_to_name takes either.
        long group = LibSsl.SSL_ctrl(ssl, SslConstants.ControlGetNegotiatedGroup, 0, null);
        return All.TryGetValue((version, cipher, group), out TlsParameters? known)
            ? known
            : All.GetOrAdd((version, cipher, group), new TlsParameters(version, cipher, GroupNameOf(ssl, (int)group)));
    }

    private static string? GroupNameOf(nint ssl, int group) =>
        group == 0 ? null : Marshal.PtrToStringUTF8((nint)LibSsl.SSL_group_to_name(ssl, group));
}
