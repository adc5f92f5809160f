using System.Globalization;

namespace Millrace.Interop.Memory;

/// <summary>
/// The memory this process may use: its cgroup's limit, or the machine's memory if that is less, as the runtime found it. The collector's
/// own limit is a part of it; the remaining part is for native memory. Any thread.
/// </summary>
internal static class ProcessMemory
{
    /// <summary>If the collector has a limit (GCHeapHardLimitPercent), the runtime reports only that.</summary>
    public static long Bytes { get; } = Of(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes, HeapPercent());

    /// <param name="availableBytes">The memory that the runtime reports for the collector.</param>
    /// <param name="heapPercent">The collector's percentage of all memory; 0 if it is all.</param>
    public static long Of(long availableBytes, int heapPercent) =>
        heapPercent is > 0 and < 100 ? availableBytes / heapPercent * 100 : availableBytes;

    private static int HeapPercent()
    {
        IReadOnlyDictionary<string, object> configuration = GC.GetConfigurationVariables();
        bool isFixed = NumberOf(configuration, "GCHeapHardLimit") > 0 && NumberOf(configuration, "GCHeapHardLimitPercent") == 0;
        return isFixed ? 0 : (int)NumberOf(configuration, "GCHeapHardLimitPercent");
    }

    private static long NumberOf(IReadOnlyDictionary<string, object> configuration, string name) =>
        configuration.TryGetValue(name, out object? value) ? Convert.ToInt64(value, CultureInfo.InvariantCulture) : 0;
}
