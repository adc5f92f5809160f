using System.Buffers.Binary;

namespace Millrace.Engine.Tests.Kit;

/// <summary>Handlers that many tests share.</summary>
internal static class Handlers
{
    /// <summary>Sends back what it gets.</summary>
    public static async Task EchoAsync(Connection connection)
    {
        while (await connection.ReadAsync() == ReadOutcome.Data)
        {
            connection.Write(connection.Input);
            connection.Consume(connection.Input.Length);
            if (await connection.FlushAsync() == FlushOutcome.Closed)
            {
                return;
            }
        }
    }

    /// <summary>Requests of 8 bytes (id, count); answers with so many bytes of the id's pattern.</summary>
    public static async Task PatternAsync(Connection connection)
    {
        while (true)
        {
            while (connection.Input.Length < 8)
            {
                if (await connection.ReadIdleAsync() != ReadOutcome.Data)
                {
                    return;
                }
            }

            int id = BinaryPrimitives.ReadInt32LittleEndian(connection.Input);
            int count = BinaryPrimitives.ReadInt32LittleEndian(connection.Input[4..]);
            connection.Consume(8);
            for (int sent = 0; sent < count;)
            {
                int piece = Math.Min(count - sent, 16 * 1024);
                WritePattern(connection, id, sent, piece);
                sent += piece;
                if (await connection.FlushAsync(64 * 1024) == FlushOutcome.Closed)
                {
                    return;
                }
            }
        }
    }

    /// <summary>The request that <see cref="PatternAsync"/> takes.</summary>
    public static byte[] PatternRequest(int id, int count)
    {
        byte[] request = new byte[8];
        BinaryPrimitives.WriteInt32LittleEndian(request, id);
        BinaryPrimitives.WriteInt32LittleEndian(request.AsSpan(4), count);
        return request;
    }

    private static void WritePattern(Connection connection, int id, long start, int count)
    {
        Span<byte> span = connection.GetSpan(count);
        for (int i = 0; i < count; i++)
        {
            span[i] = Pattern.At(id, start + i);
        }

        connection.Advance(count);
    }
}
