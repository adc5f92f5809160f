using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>Sends several ranges of one file, each after its part head (RFC 9110, section 14.6).</summary>
internal static class MultipartBody
{
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, MultipartRanges parts)
    {
        try
        {
            for (int i = 0; i < parts.Count; i++)
            {
                connection.Write(parts.HeadOf(i));
                if (!await SendPartAsync(connection, source, parts[i]))
                {
                    return false;
                }
            }

            connection.Write(parts.End);
            return true;
        }
        finally
        {
            source.Close();
        }
    }

    private static ValueTask<bool> SendPartAsync(Connection connection, BodySource source, ByteRange range)
    {
        if (source.Asset.Strategy != BodyStrategy.InMemory)
        {
            return StreamedBody.SendPartAsync(connection, source, range.First, range.Length);
        }

        if (range.Length > BodySender.CopiedBytesMax)
        {
            return InMemoryBody.SendPartAsync(connection, source, range.First, range.Length);
        }

        connection.Write(source.Asset.InMemoryBody.Slice((int)range.First, (int)range.Length));
        return new ValueTask<bool>(true);
    }
}
