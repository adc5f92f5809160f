using System.Text;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Filters;

/// <summary>Eats a first line, as one before a proxied connection; a stream that ends within it is cut.</summary>
internal sealed class PrefaceFilter(Action<string> onPreface) : ConnectionFilter
{
    private readonly StringBuilder _line = new();
    private bool _isOver;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        int at = 0;
        while (!_isOver && at < bytes.Length)
        {
            char next = (char)bytes[at++];
            _isOver = next == '\n';
            if (_isOver)
            {
                onPreface(_line.ToString());
            }
            else
            {
                _line.Append(next);
            }
        }

        PassIn(bytes[at..]);
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end) => _isOver ? end : ReceiveEnd.Reset;

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        foreach (ref readonly IoVector part in plain.Parts)
        {
            encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }
    }
}
