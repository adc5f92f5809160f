using Millrace.Interop.Files;

namespace Millrace.Engine.Tests.Kit;

/// <summary>The process's limit of descriptors, changed for the time of a test.</summary>
internal static class DescriptorLimit
{
    public static int Set(ResourceLimit limit) => FileCalls.ExchangeDescriptorLimit(limit, out _);
}
