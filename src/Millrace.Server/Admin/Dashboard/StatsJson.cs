using System.Buffers;
using System.Text.Json;

namespace Millrace.Server.Admin.Dashboard;

/// <summary>Writes the JSON that the live page requests each second. Durations are in seconds, sizes in bytes.</summary>
internal static class StatsJson
{
    public static byte[] Write(in StatsFacts facts, IReadOnlyCollection<StatsSample> samples)
    {
        var buffer = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            json.WriteString("version", facts.Version);
            json.WriteString("backend", facts.Backend);
            json.WriteString("state", facts.Readiness.ToString().ToLowerInvariant());
            json.WriteString("trouble", facts.Trouble);
            json.WriteNumber("reactors", facts.Reactors);
            json.WriteNumber("assets", facts.Assets);
            json.WriteNumber("startedAtMs", facts.StartedAtMs);
            json.WriteNumber("requests", facts.Requests);
            json.WriteNumber("bodyBytes", facts.BodyBytes);
            json.WriteStartArray("samples");
            foreach (StatsSample sample in samples)
            {
                Write(json, sample);
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        return buffer.WrittenSpan.ToArray();
    }

    private static void Write(Utf8JsonWriter json, StatsSample sample)
    {
        json.WriteStartObject();
        json.WriteNumber("n", sample.Number);
        json.WriteNumber("atMs", sample.AtMs);
        json.WriteNumber("seconds", Math.Round(sample.Seconds, 4));
        Write(json, "byClass", sample.ByClass);
        json.WriteNumber("notModified", sample.NotModified);
        json.WriteNumber("bodyBytes", sample.BodyBytes);
        Write(json, "byStrategy", sample.ByOrigin);
        Write(json, "byCoding", sample.ByCoding);
        Write(json, "p50", sample.MedianSeconds);
        Write(json, "p99", sample.TailSeconds);
        json.WriteNumber("connections", sample.Connections);
        json.WriteNumber("accepted", sample.Accepted);
        json.WriteNumber("turnedAway", sample.TurnedAway);
        json.WriteStartArray("lag");
        foreach (double seconds in sample.LagSeconds)
        {
            json.WriteNumberValue(Math.Round(seconds, 7));
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void Write(Utf8JsonWriter json, string name, IReadOnlyList<long> numbers)
    {
        json.WriteStartArray(name);
        foreach (long number in numbers)
        {
            json.WriteNumberValue(number);
        }

        json.WriteEndArray();
    }

    private static void Write(Utf8JsonWriter json, string name, double? number)
    {
        if (number is { } value)
        {
            json.WriteNumber(name, Math.Round(value, 8));
        }
        else
        {
            json.WriteNull(name);
        }
    }
}

/// <summary>Facts about the server on the live page, besides the samples.</summary>
internal readonly record struct StatsFacts(
    string Version,
    string Backend,
    Readiness Readiness,
    string? Trouble,
    int Reactors,
    long Assets,
    long StartedAtMs,
    long Requests,
    long BodyBytes);
