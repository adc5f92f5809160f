using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// What an export of metrics holds, as far as tests ask: <c>ExportMetricsServiceRequest</c> of opentelemetry-proto, read field by field.
/// </summary>
internal sealed class OtlpMetrics
{
    private readonly Dictionary<string, long> _sums = new(StringComparer.Ordinal);

    /// <summary>All that is said of where it comes from, as text.</summary>
    public string Resource { get; private set; } = "";

    /// <summary>The names of all metrics, and of those that are sums of integers the sum of all series; of histograms the count.</summary>
    public IReadOnlyDictionary<string, long> Sums => _sums;

    public static OtlpMetrics Parse(byte[] export)
    {
        var metrics = new OtlpMetrics();
        foreach (byte[] resourceMetrics in Messages(export, 1))
        {
            metrics.Resource += string.Concat(Messages(resourceMetrics, 1).Select(Encoding.UTF8.GetString));
            foreach (byte[] metric in Messages(resourceMetrics, 2).SelectMany(static scope => Messages(scope, 2)))
            {
                metrics.Take(metric);
            }
        }

        return metrics;
    }

    private void Take(byte[] metric)
    {
        string name = Encoding.UTF8.GetString(Messages(metric, 1).Single());
        // Gauge 5, sum 7: points are their field 1, an integer of a point its field 6. Histogram 9: a point's count is its field 4.
        long points = ((int[])[5, 7]).SelectMany(field => Messages(metric, field)).SelectMany(static data => Messages(data, 1))
            .SelectMany(static point => Fields(point)).Where(static field => field.Number == 6).Sum(static field => field.Value);
        long counts = Messages(metric, 9).SelectMany(static data => Messages(data, 1))
            .SelectMany(static point => Fields(point)).Where(static field => field.Number == 4).Sum(static field => field.Value);
        _sums[name] = _sums.GetValueOrDefault(name) + points + counts;
    }

    private static IEnumerable<byte[]> Messages(byte[] message, int number) =>
        Fields(message).Where(field => field.Number == number && field.Bytes is not null).Select(static field => field.Bytes!);

    private static List<(int Number, long Value, byte[]? Bytes)> Fields(byte[] message)
    {
        var fields = new List<(int, long, byte[]?)>();
        int at = 0;
        while (at < message.Length)
        {
            long tag = Varint(message, ref at);
            int number = (int)(tag >> 3);
            switch (tag & 7)
            {
                case 0:
                    fields.Add((number, Varint(message, ref at), null));
                    break;
                case 1:
                    fields.Add((number, BitConverter.ToInt64(message, at), null));
                    at += 8;
                    break;
                case 2:
                    int bytes = (int)Varint(message, ref at);
                    fields.Add((number, 0, message[at..(at + bytes)]));
                    at += bytes;
                    break;
                case 5:
                    fields.Add((number, BitConverter.ToInt32(message, at), null));
                    at += 4;
                    break;
                default:
                    throw new InvalidDataException($"A wire type {tag & 7} is none of protobuf's.");
            }
        }

        return fields;
    }

    private static long Varint(byte[] message, ref int at)
    {
        long value = 0;
        for (int shift = 0; ; shift += 7)
        {
            byte next = message[at++];
            value |= (long)(next & 0x7F) << shift;
            if (next < 0x80)
            {
                return value;
            }
        }
    }
}
