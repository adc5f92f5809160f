namespace Millrace.Server.Metrics;

/// <summary>
/// A dense index of Millrace's statuses, so that counts by status fit a few cache lines. Other statuses, from a site's own rules, share the
/// last index.
/// </summary>
internal static class StatusIndex
{
    /// <summary>The result of <see cref="StatusAt"/> for the shared index.</summary>
    public const int Other = -1;

    private const int Range = 600;

    /// <summary>The first counts requests without a response, see <see cref="HttpServer.Exchanges.HttpExchange.NoResponse"/>.</summary>
    private static readonly int[] Known =
    [
        0, 200, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 410, 411, 412, 413, 414, 415, 416, 417, 421, 426,
        429, 431, 451, 500, 501, 503, 505,
    ];

    private static readonly byte[] Slots = Make();

    public static int Count => Known.Length + 1;

    public static int Of(int status) => (uint)status < Range ? Slots[status] : Known.Length;

    public static int StatusAt(int slot) => slot < Known.Length ? Known[slot] : Other;

    private static byte[] Make()
    {
        byte[] slots = new byte[Range];
        Array.Fill(slots, (byte)Known.Length);
        for (int i = 0; i < Known.Length; i++)
        {
            slots[Known[i]] = (byte)i;
        }

        return slots;
    }
}
