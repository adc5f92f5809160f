using System.Buffers;
using Millrace.AspNetCore.Multiplexed.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.QuicTransport;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>
/// A server's handshake whose certificate the application chooses when the ClientHello has come. It keeps the hello, has the choice made on
/// the thread pool, and then is the chosen handshake. Reactor thread.
/// </summary>
internal sealed class SelectingHandshake(CallbackTls tls, QuicServerConnection connection) : QuicHandshake
{
    private const byte AlertUnexpectedMessage = 10;
    private const byte AlertIllegalParameter = 47;
    private const byte AlertInternalError = 80;

    private readonly CancellationTokenSource _ended = new();
    private readonly ArrayBufferWriter<byte> _hello = new();
    private byte[] _parameters = [];
    private IHandshakeSink? _sink;
    private uint _version = QuicVersion.Version1;
    private bool _isSelecting;
    private bool _isOver;

    /// <summary>What was chosen; null before.</summary>
    public SelectedHandshake? Selected { get; private set; }

    /// <summary>The connection that the application has seen in its callback; null before.</summary>
    public MultiplexedConnection? Connection { get; private set; }

    public override bool IsComplete => Selected?.Handshake.IsComplete == true;

    public override ReadOnlySpan<byte> ApplicationProtocol => Selected is null ? default : Selected.Handshake.ApplicationProtocol;

    public override int MemoryBytes => Selected?.Handshake.MemoryBytes ?? _hello.Capacity;

    public override uint Version
    {
        get => _version;
        set
        {
            _version = value;
            if (Selected is not null)
            {
                Selected.Handshake.Version = value;
            }
        }
    }

    public override void Start(ReadOnlySpan<byte> transportParameters, IHandshakeSink sink) => _parameters = transportParameters.ToArray();

    public override void SetTransportParameters(ReadOnlySpan<byte> transportParameters)
    {
        _parameters = transportParameters.ToArray();
        Selected?.Handshake.SetTransportParameters(transportParameters);
    }

    public override void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink)
    {
        if (Selected is not null)
        {
            Selected.Handshake.Receive(level, bytes, sink);
            return;
        }

        if (_isOver)
        {
            return;
        }

        if (level != EncryptionLevel.Initial || _isSelecting)
        {
            Fail(AlertUnexpectedMessage, "a message beside the ClientHello", sink);
            return;
        }

        _hello.Write(bytes);
        switch (ClientHelloName.Read(_hello.WrittenSpan, out string host))
        {
            case ClientHelloNameResult.Incomplete:
                break;
            case ClientHelloNameResult.Complete:
                _isSelecting = true;
                _sink = sink;
                Connection = tls.Create(connection);
                _ = SelectAsync(host, Connection);
                break;
            default:
                Fail(AlertIllegalParameter, "the ClientHello is too long or not well-formed", sink);
                break;
        }
    }

    public override void Dispose()
    {
        if (!_isOver)
        {
            _isOver = true;
            if (Connection is not null)
            {
                tls.Cancel(_ended, Connection);
            }
        }

        Selected?.Handshake.Dispose();
    }

    private async Task SelectAsync(string host, MultiplexedConnection context)
    {
        SelectedHandshake? selected = await Task.Run(() => tls.SelectAsync(host, context, _ended.Token));
        context.RunOnReactor(
            static state =>
            {
                var (handshake, selected) = ((SelectingHandshake, SelectedHandshake?))state!;
                handshake.Continue(selected);
            },
            (this, selected));
    }

    private void Continue(SelectedHandshake? selected)
    {
        if (_isOver || !connection.Reactor.IsReactorThread || connection.Connection.IsEnding)
        {
            selected?.Handshake.Dispose();
            return;
        }

        connection.Run(
            static state =>
            {
                var (handshake, selected) = ((SelectingHandshake, SelectedHandshake?))state!;
                handshake.Resume(selected);
            },
            (this, selected));
    }

    private void Resume(SelectedHandshake? selected)
    {
        if (selected is null)
        {
            Fail(AlertInternalError, "no certificate was chosen", _sink!);
        }
        else
        {
            // From here on it is disposed of with this one.
            Selected = selected;
            selected.Handshake.Version = _version;
            selected.Handshake.Start(_parameters, _sink!);
            selected.Handshake.Receive(EncryptionLevel.Initial, _hello.WrittenSpan, _sink!);
        }

        connection.Connection.OnHandshakeResumed(connection.Owner.Now);
        connection.ScheduleSend();
    }

    private void Fail(byte alert, string reason, IHandshakeSink sink)
    {
        _isOver = true;
        sink.FailHandshake(alert, reason);
    }
}
