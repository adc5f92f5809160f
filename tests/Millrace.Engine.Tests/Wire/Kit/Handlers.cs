using System.Buffers.Binary;

namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>Handlers that several tests serve.</summary>
internal static class Handlers
{
    /// <summary>Sends back what comes until the peer's end.</summary>
    public static async Task Echo(Connection connection)
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

    /// <summary>Answers each request "stream(4) count(4)" with so many bytes of that stream's pattern, until the peer's end.</summary>
    public static async Task Response(Connection connection)
    {
        while (await connection.ReadAsync() == ReadOutcome.Data)
        {
            while (connection.Input.Length >= 8)
            {
                int stream = BinaryPrimitives.ReadInt32LittleEndian(connection.Input);
                int count = BinaryPrimitives.ReadInt32LittleEndian(connection.Input[4..]);
                connection.Consume(8);
                for (int position = 0; position < count;)
                {
                    Span<byte> room = connection.GetSpan();
                    int part = Math.Min(room.Length, count - position);
                    Pattern.Fill(room[..part], stream, position);
                    connection.Advance(part);
                    position += part;
                    if (connection.UnsentBytes > 256 * 1024 && await connection.FlushAsync(64 * 1024) == FlushOutcome.Closed)
                    {
                        return;
                    }
                }
            }

            if (await connection.FlushAsync() == FlushOutcome.Closed)
            {
                return;
            }
        }
    }

    public static byte[] Request(int stream, int count)
    {
        byte[] request = new byte[8];
        BinaryPrimitives.WriteInt32LittleEndian(request, stream);
        BinaryPrimitives.WriteInt32LittleEndian(request.AsSpan(4), count);
        return request;
    }
}
