using System.Buffers;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Sends a whole file that is read before any of its response is sent. So a file that changed in place since it was catalogued is detected
/// (by a statx after the read), read again until no write intervenes, and sent in its new state, without the validators of the previous
/// version.
/// </summary>
internal static class WholeFileBody
{
    /// <summary>Above this size, memory for the whole file costs more than a response that may have to be aborted.</summary>
    private const int BytesMax = 256 * 1024;

    public static bool CanSend(in BodySource source) => source.Asset.Strategy == BodyStrategy.SingleRead && source.Size <= BytesMax;

    public static async Task SendAsync(HttpContext context, BodySource source)
    {
        for (int attempts = 0; ; attempts++)
        {
            if (!CanSend(source))
            {
                // The file has grown beyond the limit and may grow further: it is sent without Content-Length.
                context.Response.ContentLength = null;
                await FileBody.SendAsync(context, source, new ByteRange(0, source.Size - 1));
                return;
            }

            if (await TrySendAsync(context, source, attempts))
            {
                return;
            }

            source = source.Renewed();
            ResponseFields.RemoveValidators(context.Response.Headers);
            context.Response.ContentLength = source.Size;
        }
    }

    /// <summary>False, with nothing sent, if the file does not match its source and is to be read again.</summary>
    private static async ValueTask<bool> TrySendAsync(HttpContext context, BodySource source, int attempts)
    {
        // One extra byte detects that the file has grown.
        int wanted = (int)source.Size + 1;
        byte[] memory = ArrayPool<byte>.Shared.Rent(wanted);
        try
        {
            int read = await FileBlockReader.FillAsync(source.Descriptor, memory.AsMemory(0, wanted), 0);
            FirstReadOutcome outcome = read < 0
                ? FirstReadOutcome.Refuse
                : FirstRead.Decide(BodyExtent.Whole, isAsLong: read == source.Size, source.Change(), attempts);
            switch (outcome)
            {
                case FirstReadOutcome.ReadAgain:
                    return false;
                case FirstReadOutcome.Send:
                    await WriteAsync(context, memory.AsMemory(0, read));
                    return true;
                default:
                    await ErrorResponse.WriteAsync(context, StatusCodes.Status500InternalServerError);
                    return true;
            }
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(memory);
        }
    }

    private static async ValueTask WriteAsync(HttpContext context, ReadOnlyMemory<byte> body)
    {
        await context.Response.StartAsync(context.RequestAborted);
        await BodySender.Of(body).SendMemoryAsync(context);
    }
}
