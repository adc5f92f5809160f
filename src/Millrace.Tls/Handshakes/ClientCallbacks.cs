using System.Runtime.InteropServices;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Handshakes;

/// <summary>OpenSSL's callbacks for the client at work. No exception may leave them: it would end the process.</summary>
internal static class ClientCallbacks
{
    /// <summary>A step of a verification: notes why it has failed.</summary>
    [UnmanagedCallersOnly]
    public static int OnVerify(int isValid, nint verification)
    {
        if (isValid != 1 && SslOwner.Current?.Client is { } client)
        {
            client.Refuse(CertificateRefusal.Of(verification));
        }

        return isValid;
    }

    /// <summary>A session that may be resumed; 1 takes it over.</summary>
    [UnmanagedCallersOnly]
    public static int OnSession(nint ssl, nint session) =>
        SslOwner.Current?.Client is { } client && client.TryKeep(session) ? 1 : 0;
}
