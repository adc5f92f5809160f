using System.Runtime.InteropServices;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// OpenSSL's own interface for a QUIC that is not its own, since 3.5. Earlier versions have none: see <see cref="RecordQuicSsl"/>. Any
/// thread.
/// </summary>
internal static unsafe class QuicLibrary
{
    private static readonly delegate* unmanaged<nint, OsslDispatch*, void*, int> SetCallbacksFunction =
        (delegate* unmanaged<nint, OsslDispatch*, void*, int>)Find("SSL_set_quic_tls_cbs");

    private static readonly delegate* unmanaged<nint, byte*, nuint, int> SetParametersFunction =
        (delegate* unmanaged<nint, byte*, nuint, int>)Find("SSL_set_quic_tls_transport_params");

    public static bool HasCallbacks => SetCallbacksFunction is not null && SetParametersFunction is not null;

    public static bool TrySetCallbacks(nint ssl, OsslDispatch* callbacks) => SetCallbacksFunction(ssl, callbacks, null) == 1;

    /// <summary>The library keeps the address, not a copy.</summary>
    public static bool TrySetParameters(nint ssl, byte* bytes, int count) => SetParametersFunction(ssl, bytes, (nuint)count) == 1;

    private static nint Find(string name) =>
        NativeLibrary.TryLoad(OpenSslLibrary.Ssl, out nint library) && NativeLibrary.TryGetExport(library, name, out nint function)
            ? function
            : 0;
}

/// <summary><c>OSSL_DISPATCH</c>: a function and its number; a list ends with an all-zero one.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct OsslDispatch
{
    public const int CryptoSend = 2001;
    public const int CryptoReceive = 2002;
    public const int CryptoRelease = 2003;
    public const int YieldSecret = 2004;
    public const int GotParameters = 2005;
    public const int Alert = 2006;

    public int Function;
    public void* Address;
}
