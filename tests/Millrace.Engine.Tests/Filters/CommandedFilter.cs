using System.Text;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Filters;

/// <summary>A filter that does on its own what the peer tells it, a byte for each deed; all others are the handler's.</summary>
internal sealed class CommandedFilter(bool holds = false) : ConnectionFilter
{
    private readonly StringBuilder _words = new();
    private bool _hasFailed;
    private bool _keepsEnd;
    private bool _cannotEncode;

    public bool IsReleased { get; private set; }

    public override bool HoldsHandler => holds;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        foreach (byte next in bytes)
        {
            switch ((char)next)
            {
                case 'W':
                    Say("[word]");
                    break;
                case 'S':
                    StartHandler();
                    break;
                case 'E':
                    PassInEnd(ReceiveEnd.Finished);
                    break;
                case 'F':
                    Fail("[failed]");
                    break;
                case 'T':
                    Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs + 20);
                    break;
                case 'K':
                    _keepsEnd = true;
                    break;
                case 'N':
                    _cannotEncode = true;
                    break;
                case 'C':
                    Connection.Filters.Continue(this);
                    break;
                default:
                    PassIn([next]);
                    break;
            }
        }
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        if (!_keepsEnd || end != ReceiveEnd.Finished)
        {
            return end;
        }

        Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs + 20);
        return ReceiveEnd.None;
    }

    public override void DeadlineReached()
    {
        if (_keepsEnd)
        {
            PassInEnd(ReceiveEnd.Finished);
        }
        else
        {
            Fail("[late]");
        }
    }

    public override void Continue() => throw new InvalidDataException("planted");

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        if (_cannotEncode)
        {
            throw new InvalidDataException("planted");
        }

        encoded.Write(Encoding.ASCII.GetBytes(_words.ToString()));
        _words.Clear();
        foreach (ref readonly IoVector part in _hasFailed ? [] : plain.Parts)
        {
            encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }
    }

    public override void EncodeEnd(OutputBatch encoded)
    {
        if (!_hasFailed)
        {
            encoded.Write("[end]"u8);
        }
    }

    public override void Release() => IsReleased = true;

    private void Say(string word)
    {
        _words.Append(word);
        Connection.Filters.RequestSend();
    }

    private void Fail(string word)
    {
        _hasFailed = true;
        Say(word);
        Connection.Ending.EndFromFilter();
    }
}
