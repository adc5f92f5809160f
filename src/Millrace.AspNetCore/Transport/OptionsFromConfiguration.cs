using System.Globalization;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// Sets the transport's options from the <c>Millrace</c> section of the application's configuration, without .NET's configuration binder,
/// which does not support ahead-of-time compilation. Throws on a value that is not valid; logs an unknown key.
/// </summary>
internal sealed class OptionsFromConfiguration(ILoggerFactory logs, IConfiguration? configuration = null)
    : IConfigureOptions<MillraceTransportOptions>
{
    private const string Section = "Millrace";

    private static readonly Dictionary<string, Setter> Setters = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(MillraceTransportOptions.ReactorCount)] = static (options, value) => options.ReactorCount = ToCount(value),
        [nameof(MillraceTransportOptions.Backend)] = static (options, value) => options.Backend = ToEnum<BackendKind>(value),
        [nameof(MillraceTransportOptions.WatchForStalls)] = static (options, value) => options.WatchForStalls = ToBoolean(value),
        [nameof(MillraceEndPointOptions.Backlog)] = static (options, value) => options.Backlog = ToCount(value),
        [nameof(MillraceEndPointOptions.NoDelay)] = static (options, value) => options.NoDelay = ToBoolean(value),
        [nameof(MillraceEndPointOptions.MaxReadBufferSize)] = static (options, value) => options.MaxReadBufferSize = ToBytes(value),
        [nameof(MillraceEndPointOptions.MaxWriteBufferSize)] = static (options, value) => options.MaxWriteBufferSize = ToBytes(value),
        [nameof(MillraceEndPointOptions.Scheduling)] =
            static (options, value) => options.Scheduling = ToEnum<TransportScheduling>(value),
        [nameof(MillraceEndPointOptions.UseSynchronizationContext)] =
            static (options, value) => options.UseSynchronizationContext = ToBoolean(value),
        [nameof(MillraceEndPointOptions.FinOnError)] = static (options, value) => options.FinOnError = ToBoolean(value),
    };

    private delegate void Setter(MillraceTransportOptions options, IConfigurationSection value);

    /// <exception cref="InvalidOperationException">A value is not valid; the message names the key and the valid values.</exception>
    public void Configure(MillraceTransportOptions options)
    {
        foreach (IConfigurationSection value in configuration?.GetSection(Section).GetChildren() ?? [])
        {
            if (Setters.TryGetValue(value.Key, out Setter? set))
            {
                set(options, value);
            }
            else
            {
                TransportLog.Of(logs).UnknownOption(value.Path, string.Join(", ", Setters.Keys));
            }
        }
    }

    private static bool ToBoolean(IConfigurationSection value) =>
        bool.TryParse(value.Value, out bool parsed) ? parsed : throw Refusal(value, "true or false");

    private static int ToCount(IConfigurationSection value) => (int)ToNumber(value, int.MaxValue);

    private static long ToNumber(IConfigurationSection value, long most) =>
        long.TryParse(value.Value, NumberStyles.None, CultureInfo.InvariantCulture, out long parsed) && parsed <= most
            ? parsed
            : throw Refusal(value, $"a whole number up to {most}");

    /// <summary>Empty, as JSON's null becomes, means no limit.</summary>
    private static long? ToBytes(IConfigurationSection value) => value.Value is null or "" ? null : ToNumber(value, long.MaxValue);

    private static TEnum ToEnum<TEnum>(IConfigurationSection value)
        where TEnum : struct, Enum =>
        Enum.GetNames<TEnum>().FirstOrDefault(name => name.Equals(value.Value, StringComparison.OrdinalIgnoreCase)) is { } known
            ? Enum.Parse<TEnum>(known)
            : throw Refusal(value, string.Join(", ", Enum.GetNames<TEnum>()));

    private static InvalidOperationException Refusal(IConfigurationSection value, string expected) =>
        new($"Configuration key {value.Path} = '{value.Value}' is not valid. Expected: {expected}.");
}
