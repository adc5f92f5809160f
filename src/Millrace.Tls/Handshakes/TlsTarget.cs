using System.Net;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Tls.Certificates;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Handshakes;

/// <summary>A server that connections are made to: what its certificate must say, and the sessions with it. Any thread.</summary>
internal sealed class TlsTarget
{
    private readonly TlsClient _client;
    private readonly IPAddress? _address;

    /// <summary>The name, ending with a zero.</summary>
    private readonly byte[] _name;

    public TlsTarget(TlsClient client, string host, int port)
    {
        _client = client;
        Host = host.TrimEnd('.');
        _address = IPAddress.TryParse(host, out IPAddress? address) ? address : null;
        _name = [.. Encoding.UTF8.GetBytes(Host), 0];
        Text = address is { AddressFamily: System.Net.Sockets.AddressFamily.InterNetworkV6 } ? $"[{host}]:{port}" : $"{host}:{port}";
    }

    public string Host { get; }

    /// <summary>Host and port, for logs.</summary>
    public string Text { get; }

    public ClientSessions Sessions { get; } = new();

    public IReadOnlyList<ConnectionFilter> FiltersOf(Connection connection) => [new TlsClientFilter(_client, this)];

    /// <summary>The client's end of a new QUIC connection. Only of a client for QUIC.</summary>
    public QuicClientHandshake ConnectQuic(IReadOnlyList<ApplicationProtocol> protocols) => new(_client, this, protocols);

    /// <summary>
    /// Sets what a new connection asks for, by SNI if it is a name (RFC 6066, section 3), and what its certificate must say.
    /// </summary>
    public unsafe void Prepare(nint ssl, ClientContext context)
    {
        nint parameters = LibSsl.SSL_get0_param(ssl);
        LibCrypto.X509_VERIFY_PARAM_set_hostflags(parameters, SslConstants.HostFlags);
        if (_address is null)
        {
            RequireMemory(LibCrypto.X509_VERIFY_PARAM_set1_host(parameters, _name, (nuint)(_name.Length - 1)) == 1);
            fixed (byte* name = _name)
            {
                RequireMemory(LibSsl.SSL_ctrl(ssl, SslConstants.ControlSetServerName, SslConstants.NameTypeHost, name) == 1);
            }
        }
        else
        {
            byte[] address = _address.GetAddressBytes();
            RequireMemory(LibCrypto.X509_VERIFY_PARAM_set1_ip(parameters, address, (nuint)address.Length) == 1);
        }

        Sessions.TryResume(ssl, context);
    }

    private static void RequireMemory(bool isSet)
    {
        if (!isSet)
        {
            throw new InsufficientMemoryException("OpenSSL has no memory for the name of a server.");
        }
    }
}
