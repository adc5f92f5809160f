// A folder and an endpoint in one ASP.NET Core application. Try: dotnet run -- ../site, then curl -i http://localhost:5000/ and /api/time
using System.Globalization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;

WebApplicationBuilder builder = WebApplication.CreateBuilder();
builder.WebHost.UseMillrace();
WebApplication app = builder.Build();

// Files first by their names; endpoints keep what is theirs, and /404.html answers for the rest.
app.UseMillraceStaticFiles(args is [string root] ? Path.GetFullPath(root) : "wwwroot", site => site with
{
    SecurityHeaders = true,
    Listing = true,
});
app.MapGet("/api/time", () => DateTime.UtcNow.ToString("R", CultureInfo.InvariantCulture));
app.Run();
