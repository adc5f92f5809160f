using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;

namespace Millrace.AspNetCore.Tests.Transport.Kit;

/// <summary>The memory that Kestrel brings: pinned blocks.</summary>
internal static class KestrelPools
{
    public static IMemoryPoolFactory<byte> Factory { get; } = Find();

    private static IMemoryPoolFactory<byte> Find()
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore();
        return builder.Services.BuildServiceProvider().GetRequiredService<IMemoryPoolFactory<byte>>();
    }
}
