using System.Runtime.InteropServices;
using Millrace.Quic.Protection;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>QUIC's handshake by the callbacks that OpenSSL has for it since 3.5. One thread.</summary>
internal sealed unsafe class CallbackQuicSsl(OpenSslQuicHandshake handshake, nint context, bool isClient)
    : QuicSsl(handshake, context, isClient)
{
    /// <summary>Levels of protection, as the library numbers them; 1 is that of early data.</summary>
    private const uint LevelHandshake = 2;
    private const uint LevelApplication = 3;

    private static readonly OsslDispatch* Callbacks = MakeCallbacks();

    public override int Provide(EncryptionLevel level, ReadOnlySpan<byte> bytes, HandshakeCall call)
    {
        int count = Math.Min(bytes.Length, call.Input.Length);
        bytes[..count].CopyTo(call.Input);
        call.InputStart = 0;
        call.InputEnd = count;
        return count;
    }

    public override void SetParameters(byte* bytes, int count)
    {
        if (!QuicLibrary.TrySetParameters(Handle, bytes, count))
        {
            OpenSslErrors.Clear();
            throw new InsufficientMemoryException("OpenSSL has no memory for transport parameters.");
        }
    }

    /// <summary>It has no BIO.</summary>
    public override int TakeReceived(Span<byte> destination) => 0;

    public override bool TryPut(ReadOnlySpan<byte> bytes) => true;

    protected override void Prepare()
    {
        if (!QuicLibrary.TrySetCallbacks(Handle, Callbacks))
        {
            throw new InvalidOperationException($"OpenSSL refuses callbacks for QUIC: {OpenSslErrors.Drain()}.");
        }
    }

    private static OsslDispatch* MakeCallbacks()
    {
        var callbacks = (OsslDispatch*)NativeMemory.AllocZeroed(7, (nuint)sizeof(OsslDispatch));
        delegate* unmanaged<nint, byte*, nuint, nuint*, void*, int> send = &OnSend;
        delegate* unmanaged<nint, byte**, nuint*, void*, int> receive = &OnReceive;
        delegate* unmanaged<nint, nuint, void*, int> release = &OnRelease;
        delegate* unmanaged<nint, uint, int, byte*, nuint, void*, int> secret = &OnSecret;
        delegate* unmanaged<nint, byte*, nuint, void*, int> parameters = &OnParameters;
        delegate* unmanaged<nint, byte, void*, int> alert = &OnAlert;
        callbacks[0] = new OsslDispatch { Function = OsslDispatch.CryptoSend, Address = send };
        callbacks[1] = new OsslDispatch { Function = OsslDispatch.CryptoReceive, Address = receive };
        callbacks[2] = new OsslDispatch { Function = OsslDispatch.CryptoRelease, Address = release };
        callbacks[3] = new OsslDispatch { Function = OsslDispatch.YieldSecret, Address = secret };
        callbacks[4] = new OsslDispatch { Function = OsslDispatch.GotParameters, Address = parameters };
        callbacks[5] = new OsslDispatch { Function = OsslDispatch.Alert, Address = alert };
        return callbacks;
    }

    [UnmanagedCallersOnly]
    private static int OnSend(nint ssl, byte* bytes, nuint count, nuint* taken, void* argument)
    {
        (Current as QuicSsl)?.TakeMessage(new ReadOnlySpan<byte>(bytes, (int)count));
        *taken = count;
        return 1;
    }

    [UnmanagedCallersOnly]
    private static int OnReceive(nint ssl, byte** bytes, nuint* count, void* argument)
    {
        *bytes = null;
        *count = 0;
        if (Current is CallbackQuicSsl { Call: { } call } && call.InputStart < call.InputEnd)
        {
            *bytes = (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(call.Input, call.InputStart);
            *count = (nuint)(call.InputEnd - call.InputStart);
        }

        return 1;
    }

    [UnmanagedCallersOnly]
    private static int OnRelease(nint ssl, nuint count, void* argument)
    {
        if (Current is CallbackQuicSsl { Call: { } call })
        {
            call.InputStart += (int)count;
        }

        return 1;
    }

    [UnmanagedCallersOnly]
    private static int OnSecret(nint ssl, uint level, int isForSending, byte* secret, nuint count, void* argument)
    {
        if (Current is QuicSsl quic && level is LevelHandshake or LevelApplication)
        {
            quic.TakeSecret(
                level == LevelHandshake ? EncryptionLevel.Handshake : EncryptionLevel.OneRtt,
                isForSending == 1,
                new ReadOnlySpan<byte>(secret, (int)count));
        }

        return 1;
    }

    [UnmanagedCallersOnly]
    private static int OnParameters(nint ssl, byte* bytes, nuint count, void* argument)
    {
        (Current as QuicSsl)?.TakeParameters(new ReadOnlySpan<byte>(bytes, (int)count));
        return 1;
    }

    [UnmanagedCallersOnly]
    private static int OnAlert(nint ssl, byte alert, void* argument)
    {
        (Current as QuicSsl)?.TakeAlert(alert);
        return 1;
    }
}
