using Millrace.Engine.Buffers;
using Millrace.Interop.Sockets;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Records;

/// <summary>Cuts output into records. Reactor thread only.</summary>
internal unsafe struct RecordWriter
{
    private RecordSizes _sizes;

    /// <summary>Encrypts a batch. False if OpenSSL has no memory.</summary>
    public bool TryWrite(SslConnection ssl, OutputBatch plain, OutputBatch encoded, Span<byte> gathered, long nowMs)
    {
        if (plain.Bytes > BlockPools.ResponseBytes)
        {
            // A record is a little more than half of the usual block, so with those each record would take a block of its own.
            _ = encoded.GetSpan((int)Math.Min(plain.Bytes, BlockPools.ChunkBytes));
        }

        _sizes.Begin(nowMs);
        if (ssl.Sealer is { } sealer)
        {
            sealer.Write(plain, ref _sizes, encoded);
            return true;
        }

        ssl.Sink = encoded;
        try
        {
            return TryWrite(ssl, plain.Parts, gathered);
        }
        finally
        {
            ssl.Sink = null;
        }
    }

    private bool TryWrite(SslConnection ssl, ReadOnlySpan<IoVector> parts, Span<byte> gathered)
    {
        int count = 0;
        for (int i = 0; i < parts.Length; i++)
        {
            var left = new ReadOnlySpan<byte>(parts[i].Address, (int)parts[i].Bytes);
            while (left.Length > 0)
            {
                int most = _sizes.Current;
                if (count == 0 && (left.Length >= most || i == parts.Length - 1))
                {
                    int size = Math.Min(left.Length, most);
                    if (!TryWrite(ssl, left[..size]))
                    {
                        return false;
                    }

                    left = left[size..];
                    continue;
                }

                // A copy of some kilobytes is cheaper than a second record.
                int more = Math.Min(left.Length, most - count);
                left[..more].CopyTo(gathered[count..]);
                left = left[more..];
                count += more;
                if (count == most)
                {
                    if (!TryWrite(ssl, gathered[..count]))
                    {
                        return false;
                    }

                    count = 0;
                }
            }
        }

        return count == 0 || TryWrite(ssl, gathered[..count]);
    }

    private bool TryWrite(SslConnection ssl, ReadOnlySpan<byte> record)
    {
        bool isWritten = ssl.TryWrite(record);
        _sizes.Written();
        return isWritten;
    }
}
