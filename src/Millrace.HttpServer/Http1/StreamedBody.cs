using Millrace.Engine;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Proxying;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Writes a <see cref="BodyStream"/> after its head, in one of the framings of HTTP/1.1, as far as its client takes it. It waits for
/// nothing: its owner calls it again when the producer or the client has made progress. Reactor thread only.
/// </summary>
internal struct StreamedBody(BodyStream stream, StreamFraming framing)
{
    /// <summary>Unsent output beyond which nothing is taken from the producer: enough to fill a fast link between two iterations.</summary>
    public const int UnsentBytesMax = 256 * 1024;

    /// <summary>One piece of a fast producer: it is sent while the next one is produced.</summary>
    private const int PieceBytesMax = 64 * 1024;

    /// <summary>Whether all of it is written.</summary>
    public bool IsEnded { get; private set; }

    /// <summary>Writes what is available.</summary>
    public StreamProgress Write(Connection connection)
    {
        while (!IsEnded && stream.State != BodyStreamState.Failed)
        {
            ReadOnlySpan<byte> available = stream.Available;
            if (available.IsEmpty)
            {
                if (stream.State == BodyStreamState.Open)
                {
                    return StreamProgress.WaitsForProducer;
                }

                WriteEnd(connection);
                break;
            }

            if (connection.UnsentBytes >= UnsentBytesMax)
            {
                return StreamProgress.WaitsForClient;
            }

            WritePiece(connection, available[..Math.Min(available.Length, PieceBytesMax)]);
        }

        return IsEnded ? StreamProgress.Ended : StreamProgress.Lost;
    }

    private readonly void WritePiece(Connection connection, ReadOnlySpan<byte> piece)
    {
        if (framing == StreamFraming.Chunked)
        {
            Chunk.Write(connection, piece);
        }
        else
        {
            connection.Write(piece);
        }

        stream.Consume(piece.Length);
    }

    private void WriteEnd(Connection connection)
    {
        IsEnded = true;
        if (framing == StreamFraming.Chunked)
        {
            connection.Write("0\r\n"u8);
            var trailers = new TrailerLines(stream.TrailerLines);
            while (trailers.MoveNext())
            {
                connection.Write(trailers.Name);
                connection.Write(": "u8);
                connection.Write(trailers.Value);
                connection.Write("\r\n"u8);
            }

            connection.Write("\r\n"u8);
        }
    }
}

/// <summary>How the end of a streamed body is signalled.</summary>
internal enum StreamFraming : byte
{
    /// <summary>By the head: a length, no body at all, or the end of the connection.</summary>
    None,

    Chunked,
}

/// <summary>How far a <see cref="StreamedBody"/> is.</summary>
internal enum StreamProgress : byte
{
    WaitsForProducer,

    /// <summary>There is too much unsent output.</summary>
    WaitsForClient,

    Ended,

    /// <summary>The rest is lost: the response must not look whole.</summary>
    Lost,
}
