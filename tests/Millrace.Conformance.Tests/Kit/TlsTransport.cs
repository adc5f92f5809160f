using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.ExceptionServices;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>A socket, with the bytes in TLS. The server's certificate is one that was made for the run.</summary>
internal sealed class TlsTransport : Transport
{
    private readonly Socket _socket;
    private readonly SslStream _stream;

    private TlsTransport(Socket socket)
    {
        _socket = socket;
        _stream = new SslStream(new NetworkStream(socket, ownsSocket: true));
    }

    public static async Task<TlsTransport> ShakeHandsAsync(Socket socket, SslApplicationProtocol protocol, CancellationToken cancellation)
    {
        var transport = new TlsTransport(socket);
        try
        {
            var options = new SslClientAuthenticationOptions
            {
                TargetHost = "localhost",
                ApplicationProtocols = [protocol],
                RemoteCertificateValidationCallback = static (_, certificate, _, _) => certificate is X509Certificate2,
            };
            await transport._stream.AuthenticateAsClientAsync(options, cancellation);
            Expect.Equal(protocol, transport._stream.NegotiatedApplicationProtocol, "the protocol");
            return transport;
        }
        catch
        {
            transport.Dispose();
            throw;
        }
    }

    public override async ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        try
        {
            await _stream.WriteAsync(bytes, cancellation);
            return bytes.Length;
        }
        catch (IOException failure) when (failure.InnerException is SocketException cause)
        {
            ExceptionDispatchInfo.Throw(cause);
            throw;
        }
    }

    public override async ValueTask<int> ReceiveAsync(Memory<byte> bytes, CancellationToken cancellation)
    {
        try
        {
            return await _stream.ReadAsync(bytes, cancellation);
        }
        catch (IOException failure) when (failure.InnerException is SocketException cause)
        {
            ExceptionDispatchInfo.Throw(cause);
            throw;
        }
    }

    public override async Task FinishSendingAsync()
    {
        await _stream.ShutdownAsync();
        _socket.Shutdown(SocketShutdown.Send);
    }

    public override void Dispose() => _stream.Dispose();
}
